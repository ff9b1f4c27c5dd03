-- A logged request, or a run, is of a token or of a user who uploaded a file.
ALTER TABLE request_runs ADD COLUMN user_id BIGINT REFERENCES users (id);
ALTER TABLE request_runs ALTER COLUMN token_id DROP NOT NULL;
ALTER TABLE request_runs ADD CHECK ((token_id IS NULL) <> (user_id IS NULL));

ALTER TABLE request_log ADD COLUMN user_id BIGINT REFERENCES users (id);
ALTER TABLE request_log ALTER COLUMN token_id DROP NOT NULL;
ALTER TABLE request_log ADD CHECK ((token_id IS NULL) <> (user_id IS NULL));

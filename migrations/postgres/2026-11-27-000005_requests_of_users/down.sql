-- The older program cannot show requests of users.
DELETE FROM request_log WHERE token_id IS NULL;
DELETE FROM request_runs WHERE token_id IS NULL;
ALTER TABLE request_log DROP COLUMN user_id;
ALTER TABLE request_log ALTER COLUMN token_id SET NOT NULL;
ALTER TABLE request_runs DROP COLUMN user_id;
ALTER TABLE request_runs ALTER COLUMN token_id SET NOT NULL;

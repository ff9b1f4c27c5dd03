-- The older program cannot show requests of users.
CREATE TABLE new_request_log (
    id                INTEGER PRIMARY KEY AUTOINCREMENT,
    provider_id       INTEGER   NOT NULL REFERENCES providers (id),
    accepted          BOOLEAN   NOT NULL,
    answered_at       TIMESTAMP NOT NULL,
    token_id          INTEGER   NOT NULL REFERENCES tokens (id),
    version           TEXT      NOT NULL,
    endpoint          TEXT      NOT NULL,
    method            TEXT      NOT NULL,
    status            INTEGER   NOT NULL,
    item              INTEGER, -- the position in a batch or an upload, from 0; null for a request as a whole
    request_id        TEXT      NOT NULL,
    problems          TEXT      NOT NULL, -- an array of [code, field]
    problems_left_out INTEGER   NOT NULL,
    run_id            INTEGER,
    record_key        TEXT
);
INSERT INTO new_request_log (id, provider_id, accepted, answered_at, token_id, version, endpoint, method, status, item,
    request_id, problems, problems_left_out, run_id, record_key)
    SELECT id, provider_id, accepted, answered_at, token_id, version, endpoint, method, status, item,
    request_id, problems, problems_left_out, run_id, record_key
    FROM request_log WHERE token_id IS NOT NULL;
DELETE FROM sqlite_sequence WHERE name = 'new_request_log';
INSERT INTO sqlite_sequence (name, seq) SELECT 'new_request_log', seq FROM sqlite_sequence WHERE name = 'request_log';
DROP TABLE request_log;
ALTER TABLE new_request_log RENAME TO request_log;
CREATE INDEX request_log_by_provider ON request_log (provider_id, accepted, answered_at, id);

CREATE TABLE new_request_runs (
    id                 INTEGER PRIMARY KEY AUTOINCREMENT,
    provider_id        INTEGER   NOT NULL REFERENCES providers (id),
    token_id           INTEGER   NOT NULL REFERENCES tokens (id),
    version            TEXT      NOT NULL,
    batch              TEXT      NOT NULL, -- the identifier of the request with a batch, or of the upload; empty for single requests
    started_at         TIMESTAMP NOT NULL,
    ended_at           TIMESTAMP NOT NULL,
    registered         BIGINT    NOT NULL,
    changed            BIGINT    NOT NULL,
    already_registered BIGINT    NOT NULL,
    refused            BIGINT    NOT NULL,
    checked            BIGINT    NOT NULL, -- accepted with validate-only
    repeated           BIGINT    NOT NULL  -- answered with the reply to an earlier request
);
INSERT INTO new_request_runs (id, provider_id, token_id, version, batch, started_at, ended_at, registered, changed, already_registered,
    refused, checked, repeated)
    SELECT id, provider_id, token_id, version, batch, started_at, ended_at, registered, changed, already_registered,
    refused, checked, repeated
    FROM request_runs WHERE token_id IS NOT NULL;
DELETE FROM sqlite_sequence WHERE name = 'new_request_runs';
INSERT INTO sqlite_sequence (name, seq) SELECT 'new_request_runs', seq FROM sqlite_sequence WHERE name = 'request_runs';
DROP TABLE request_runs;
ALTER TABLE new_request_runs RENAME TO request_runs;
CREATE INDEX request_runs_by_provider ON request_runs (provider_id, ended_at, id);

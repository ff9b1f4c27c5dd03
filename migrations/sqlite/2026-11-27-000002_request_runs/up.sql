-- Runs of each provider: batches, and single requests of a token without a pause of ten minutes. Contains no bodies and no
-- values, only the numbers of records by result.
CREATE TABLE request_runs (
    id                 INTEGER PRIMARY KEY AUTOINCREMENT,
    provider_id        INTEGER   NOT NULL REFERENCES providers (id),
    token_id           INTEGER   NOT NULL REFERENCES tokens (id),
    version            TEXT      NOT NULL,
    batch              TEXT      NOT NULL, -- the identifier of the request with a batch; empty for single requests
    started_at         TIMESTAMP NOT NULL,
    ended_at           TIMESTAMP NOT NULL,
    registered         BIGINT    NOT NULL,
    changed            BIGINT    NOT NULL,
    already_registered BIGINT    NOT NULL,
    refused            BIGINT    NOT NULL,
    checked            BIGINT    NOT NULL, -- accepted with validate-only
    repeated           BIGINT    NOT NULL  -- answered with the reply to an earlier request
);

CREATE INDEX request_runs_by_provider ON request_runs (provider_id, ended_at, id);

-- The run of a request, and the provider's key of its record: provider_trainee_id, or else the identifier of the trainee.
ALTER TABLE request_log ADD COLUMN run_id INTEGER;
ALTER TABLE request_log ADD COLUMN record_key TEXT;

-- Whether the request log stores the keys of records.
ALTER TABLE providers ADD COLUMN logs_record_keys BOOLEAN NOT NULL DEFAULT TRUE;

-- Requests of each provider: the refused ones of the last days, and the last accepted ones. No path, no body and no value:
-- what was asked, what was answered, and of problems their codes and fields.
CREATE TABLE request_log (
    id                INTEGER PRIMARY KEY AUTOINCREMENT,
    provider_id       INTEGER   NOT NULL REFERENCES providers (id),
    accepted          BOOLEAN   NOT NULL,
    answered_at       TIMESTAMP NOT NULL,
    token_id          INTEGER   NOT NULL REFERENCES tokens (id),
    version           TEXT      NOT NULL,
    endpoint          TEXT      NOT NULL,
    method            TEXT      NOT NULL,
    status            INTEGER   NOT NULL,
    item              INTEGER, -- the position in a batch, from 0; null for a request as a whole
    request_id        TEXT      NOT NULL,
    problems          TEXT      NOT NULL, -- an array of [code, field]
    problems_left_out INTEGER   NOT NULL
);

CREATE INDEX request_log_by_provider ON request_log (provider_id, accepted, answered_at, id);

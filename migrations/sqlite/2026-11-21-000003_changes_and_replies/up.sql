-- What each request changed, in the transaction of the change.
CREATE TABLE changes (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    trainee_key INTEGER NOT NULL REFERENCES trainees (id) ON DELETE CASCADE,
    changed_at  TIMESTAMP NOT NULL,
    token_id    INTEGER REFERENCES tokens (id), -- null where an operator was at work
    request_id  TEXT,
    version     TEXT,
    operation   TEXT NOT NULL, -- the endpoint, or the command
    -- A JSON object: field to [old value, new value]; the field of a placement or a degree stands behind its identifier.
    fields      TEXT NOT NULL
);

CREATE INDEX changes_by_trainee ON changes (trainee_key, id);

-- Replies to requests with an Idempotency-Key, in the transaction of the change. They are kept for a day.
CREATE TABLE replies (
    provider_id     INTEGER NOT NULL REFERENCES providers (id),
    idempotency_key TEXT NOT NULL,
    request_digest  TEXT NOT NULL, -- SHA-256 of method, path and body, in hex
    status          INTEGER NOT NULL,
    headers         TEXT NOT NULL, -- a JSON list of [name, value]
    body            TEXT NOT NULL,
    created_at      TIMESTAMP NOT NULL,
    PRIMARY KEY (provider_id, idempotency_key)
);

CREATE INDEX replies_by_age ON replies (created_at);

CREATE TABLE providers (
    id         INTEGER   PRIMARY KEY AUTOINCREMENT,
    ukprn      TEXT      NOT NULL UNIQUE,
    name       TEXT      NOT NULL,
    created_at TIMESTAMP NOT NULL,
    closed_at  TIMESTAMP
);

CREATE TABLE tokens (
    id           INTEGER   PRIMARY KEY AUTOINCREMENT,
    provider_id  INTEGER   NOT NULL REFERENCES providers (id),
    name         TEXT      NOT NULL,
    digest       TEXT      NOT NULL UNIQUE, -- SHA-256 of the whole token text, in hex
    created_by   TEXT      NOT NULL,
    created_at   TIMESTAMP NOT NULL,
    expires_on   DATE      NOT NULL,        -- refused from the start of this day
    last_used_on DATE,
    revoked_at   TIMESTAMP,
    revoked_by   TEXT
);

CREATE INDEX tokens_by_provider ON tokens (provider_id);

CREATE TABLE schools (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    urn      TEXT    NOT NULL UNIQUE,
    name     TEXT    NOT NULL,
    postcode TEXT,
    open     BOOLEAN NOT NULL
);

CREATE TABLE training_partners (
    id    INTEGER PRIMARY KEY AUTOINCREMENT,
    urn   TEXT    UNIQUE,
    ukprn TEXT,
    name  TEXT    NOT NULL
);

CREATE INDEX training_partners_by_ukprn ON training_partners (ukprn);

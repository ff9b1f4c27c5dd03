-- Which trainees were erased: what is left of them besides a row of `trainees` with the identifier alone.
CREATE TABLE erasures (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    provider_id INTEGER   NOT NULL REFERENCES providers (id),
    -- No reference: a trainee that a restored backup does not know may have been erased all the same.
    trainee_id  TEXT      NOT NULL UNIQUE,
    erased_at   TIMESTAMP NOT NULL,
    erased_by   TEXT      NOT NULL,
    ground      TEXT      NOT NULL,
    entries     INTEGER   NOT NULL -- of the history that were removed
);

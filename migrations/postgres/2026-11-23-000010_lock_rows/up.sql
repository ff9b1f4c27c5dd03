-- Rows that hold nothing and are only locked.
--
-- What two requests must not do at the same time has a row here, by the digest of what it is about modulo their number. Two
-- things may share a row; then one waits for the other for no reason, and both are right.
CREATE TABLE lock_stripes (
    stripe INTEGER PRIMARY KEY
);

INSERT INTO lock_stripes (stripe) SELECT generate_series(0, 4095);

-- One row for each Idempotency-Key of the last day: locked while a request with the key is handled. It is committed before
-- it is locked, so that others see that it is locked, and not only wait for it.
CREATE TABLE idempotency_locks (
    digest  TEXT PRIMARY KEY, -- SHA-256 of provider and key, in hex
    used_at TIMESTAMP NOT NULL -- when the key was new, to the day
);

CREATE INDEX idempotency_locks_by_age ON idempotency_locks (used_at);

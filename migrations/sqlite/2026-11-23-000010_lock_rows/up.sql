-- For PostgreSQL, where writes run side by side. Here they come one after the other, and both tables stay empty.
CREATE TABLE lock_stripes (
    stripe INTEGER PRIMARY KEY NOT NULL
);

CREATE TABLE idempotency_locks (
    digest  TEXT PRIMARY KEY NOT NULL,
    used_at TIMESTAMP NOT NULL
);

CREATE INDEX idempotency_locks_by_age ON idempotency_locks (used_at);

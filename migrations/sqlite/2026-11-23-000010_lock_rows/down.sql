DROP TABLE idempotency_locks;
DROP TABLE lock_stripes;

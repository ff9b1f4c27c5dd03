-- The last change of each provider's records. The row 0 belongs to no provider and is used on PostgreSQL only.
CREATE TABLE provider_positions (
    provider_id INTEGER PRIMARY KEY NOT NULL,
    position    INTEGER NOT NULL, -- each changed record takes the next position
    changed_at  TIMESTAMP         -- null before the first change
);

INSERT INTO provider_positions (provider_id, position, changed_at)
    SELECT id,
           coalesce((SELECT max(changed_in) FROM trainees WHERE provider_id = providers.id), 0),
           (SELECT max(updated_at) FROM trainees WHERE provider_id = providers.id)
    FROM providers;
INSERT INTO provider_positions (provider_id, position) VALUES (0, 0);

DROP TRIGGER trainees_stamp_change;
DROP TRIGGER trainee_counts_insert;
DROP TRIGGER trainee_counts_delete;
DROP TRIGGER trainee_counts_update;
DROP TRIGGER trainee_change_counts_insert;
DROP TRIGGER trainee_change_counts_delete;
DROP TRIGGER trainee_change_counts_update;
DROP TABLE trainee_counts;
DROP TABLE trainee_change_counts;
DROP TABLE lock_stripes;
DROP TABLE idempotency_locks;
DROP INDEX trainees_by_start;
-- Programs of the former release cannot write afterwards.
ALTER TABLE trainees RENAME COLUMN changed_in TO position;

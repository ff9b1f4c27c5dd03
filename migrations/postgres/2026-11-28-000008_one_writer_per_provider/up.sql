-- All changes of one provider's records happen one after the other. Writes wait during this migration; reads continue until
-- its end. Servers of the former release cannot write afterwards, because the column of positions has another name.
LOCK TABLE trainees IN SHARE ROW EXCLUSIVE MODE;

-- The last change of each provider's records. A transaction that changes records locks the row of the provider first. The
-- row 0 belongs to no provider: a transaction that issues teacher reference numbers or changes operators locks it last.
CREATE TABLE provider_positions (
    provider_id BIGINT PRIMARY KEY,
    position    BIGINT NOT NULL, -- each changed record takes the next position
    changed_at  TIMESTAMP        -- null before the first change
) WITH (fillfactor = 50); -- Leaves room for the next version of a row on the same page.

INSERT INTO provider_positions (provider_id, position, changed_at)
    SELECT id,
           coalesce((SELECT max(changed_in) FROM trainees WHERE provider_id = providers.id), 0),
           (SELECT max(updated_at) FROM trainees WHERE provider_id = providers.id)
    FROM providers;
INSERT INTO provider_positions (provider_id, position) VALUES (0, 0);

DROP TRIGGER trainees_refuse_late_change ON trainees;
DROP TRIGGER trainees_stamp_change ON trainees;
DROP TRIGGER trainee_counts_insert_delete ON trainees;
DROP TRIGGER trainee_counts_update ON trainees;
DROP TRIGGER trainee_counts_truncate ON trainees;
DROP FUNCTION refuse_late_change(), stamp_trainee_change(), keep_trainee_counts(), add_to_trainee_counts(trainees, BIGINT);
DROP INDEX trainees_by_start;
ALTER TABLE trainees ALTER COLUMN changed_in SET DEFAULT 0;
ALTER TABLE trainees RENAME COLUMN changed_in TO position;
DROP TABLE trainee_counts, trainee_change_counts, lock_stripes, idempotency_locks;

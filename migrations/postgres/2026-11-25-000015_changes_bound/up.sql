-- Prepares the partitions by month: the table is to become the partition of everything before a bound. That all entries are
-- before it is said here, for new ones, and validated by the next migration while others write. Running servers must be able
-- to write until the partitions are there, so the bound is a month ahead at least.
--
-- Entries that are dated behind the bound come from a clock that was wrong. They wait in what becomes the default partition.
CREATE TABLE changes_other (LIKE changes);

DO $$
DECLARE
    bound TIMESTAMP := date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC') + INTERVAL '2 months';
BEGIN
    -- Most registers have no such entry; the look-up keeps nobody waiting.
    IF EXISTS (SELECT FROM changes WHERE changed_at >= bound) THEN
        LOCK TABLE changes IN SHARE ROW EXCLUSIVE MODE;
        WITH moved AS (DELETE FROM changes WHERE changed_at >= bound RETURNING *)
        INSERT INTO changes_other SELECT * FROM moved;
    END IF;
    EXECUTE format('ALTER TABLE changes ADD CONSTRAINT changes_until CHECK (changed_at < %L) NOT VALID', bound);
END
$$;

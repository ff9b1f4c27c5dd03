-- How many trainees a list shows, so that nobody has to count them: for each list and each thing that lists are narrowed
-- by, the visible trainees. The triggers below keep it, whatever program writes.
--
-- A count is the sum of one or more rows. A writer takes a row of its count that no other writer holds, or adds one. So
-- no writer waits for another, and there are no more rows of a count than writers were ever at it together. A single row
-- may fall below zero.
CREATE TABLE trainee_counts (
    id             BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    provider_id    BIGINT  NOT NULL REFERENCES providers (id),
    academic_cycle INTEGER NOT NULL,
    state          TEXT    NOT NULL,
    has_trn        BOOLEAN NOT NULL,
    itt_start_date DATE    NOT NULL, -- 0001-01-01 where a trainee has none
    trainees       BIGINT  NOT NULL
) WITH (fillfactor = 50); -- Room for the next version of a row beside it, so that no index learns of a change.

CREATE INDEX trainee_counts_by_list
    ON trainee_counts (provider_id, academic_cycle, state, has_trn, itt_start_date);

-- Lists of one state walk along the first; those that begin, or have begun, by some day are found in the second, where
-- they are few. Behind the state and the day stands what else a list is narrowed by.
CREATE INDEX trainees_by_state
    ON trainees (provider_id, academic_cycle, state, updated_at, id, discarded_at, trn, itt_start_date);
CREATE INDEX trainees_by_start
    ON trainees (provider_id, academic_cycle, itt_start_date, state, discarded_at, trn, updated_at, id);

-- The same by the day of the last change, for lists of what has changed since a moment. Only the day of that moment is
-- counted one by one.
CREATE TABLE trainee_change_counts (
    id             BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    provider_id    BIGINT  NOT NULL REFERENCES providers (id),
    academic_cycle INTEGER NOT NULL,
    changed_on     DATE    NOT NULL,
    state          TEXT    NOT NULL,
    has_trn        BOOLEAN NOT NULL,
    trainees       BIGINT  NOT NULL
) WITH (fillfactor = 50);

CREATE INDEX trainee_change_counts_by_list
    ON trainee_change_counts (provider_id, academic_cycle, changed_on, state, has_trn);

CREATE FUNCTION add_to_trainee_counts(trainee trainees, change BIGINT) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    starts DATE := coalesce(trainee.itt_start_date, DATE '0001-01-01');
    taken  BIGINT;
BEGIN
    IF trainee.discarded_at IS NOT NULL OR trainee.state = 'draft' THEN
        RETURN;
    END IF;
    SELECT id INTO taken FROM trainee_counts
    WHERE provider_id = trainee.provider_id AND academic_cycle = trainee.academic_cycle
      AND state = trainee.state AND has_trn = (trainee.trn IS NOT NULL) AND itt_start_date = starts
    LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
    IF FOUND THEN
        UPDATE trainee_counts SET trainees = trainees + change WHERE id = taken;
    ELSE
        INSERT INTO trainee_counts (provider_id, academic_cycle, state, has_trn, itt_start_date, trainees)
        VALUES (trainee.provider_id, trainee.academic_cycle, trainee.state, trainee.trn IS NOT NULL, starts, change);
    END IF;
    SELECT id INTO taken FROM trainee_change_counts
    WHERE provider_id = trainee.provider_id AND academic_cycle = trainee.academic_cycle
      AND changed_on = trainee.updated_at::DATE AND state = trainee.state AND has_trn = (trainee.trn IS NOT NULL)
    LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
    IF FOUND THEN
        UPDATE trainee_change_counts SET trainees = trainees + change WHERE id = taken;
    ELSE
        INSERT INTO trainee_change_counts (provider_id, academic_cycle, changed_on, state, has_trn, trainees)
        VALUES (trainee.provider_id, trainee.academic_cycle, trainee.updated_at::DATE, trainee.state,
                trainee.trn IS NOT NULL, change);
    END IF;
END
$$;

CREATE FUNCTION keep_trainee_counts() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        DELETE FROM trainee_counts;
        DELETE FROM trainee_change_counts;
        RETURN NULL;
    END IF;
    IF TG_OP <> 'INSERT' THEN
        PERFORM add_to_trainee_counts(OLD, -1);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        PERFORM add_to_trainee_counts(NEW, 1);
    END IF;
    RETURN NULL;
END
$$;

-- A trigger lets nobody write until this migration is committed, so what is counted at the end is all there is.
CREATE TRIGGER trainee_counts_insert_delete AFTER INSERT OR DELETE ON trainees
FOR EACH ROW EXECUTE FUNCTION keep_trainee_counts();

CREATE TRIGGER trainee_counts_update AFTER UPDATE ON trainees
FOR EACH ROW WHEN (
    (OLD.provider_id, OLD.academic_cycle, OLD.state, OLD.trn IS NULL, OLD.itt_start_date, OLD.discarded_at IS NULL,
     OLD.updated_at::DATE)
    IS DISTINCT FROM
    (NEW.provider_id, NEW.academic_cycle, NEW.state, NEW.trn IS NULL, NEW.itt_start_date, NEW.discarded_at IS NULL,
     NEW.updated_at::DATE))
EXECUTE FUNCTION keep_trainee_counts();

CREATE TRIGGER trainee_counts_truncate AFTER TRUNCATE ON trainees
FOR EACH STATEMENT EXECUTE FUNCTION keep_trainee_counts();

INSERT INTO trainee_counts (provider_id, academic_cycle, state, has_trn, itt_start_date, trainees)
    SELECT provider_id, academic_cycle, state, trn IS NOT NULL, coalesce(itt_start_date, DATE '0001-01-01'), count(*)
    FROM trainees
    WHERE discarded_at IS NULL AND state <> 'draft'
    GROUP BY 1, 2, 3, 4, 5;

INSERT INTO trainee_change_counts (provider_id, academic_cycle, changed_on, state, has_trn, trainees)
    SELECT provider_id, academic_cycle, updated_at::DATE, state, trn IS NOT NULL, count(*)
    FROM trainees
    WHERE discarded_at IS NULL AND state <> 'draft'
    GROUP BY 1, 2, 3, 4, 5;

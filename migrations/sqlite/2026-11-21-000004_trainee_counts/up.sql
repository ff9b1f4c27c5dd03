-- How many trainees a list shows, so that nobody has to count them: for each list and each thing that lists are narrowed
-- by, the visible trainees. The triggers below keep it, whatever program writes.
CREATE TABLE trainee_counts (
    provider_id    INTEGER NOT NULL REFERENCES providers (id),
    academic_cycle INTEGER NOT NULL,
    state          TEXT    NOT NULL,
    has_trn        BOOLEAN NOT NULL,
    itt_start_date DATE    NOT NULL, -- 0001-01-01 where a trainee has none
    trainees       INTEGER NOT NULL,
    PRIMARY KEY (provider_id, academic_cycle, state, has_trn, itt_start_date)
) WITHOUT ROWID;

-- Lists of one state walk along the first; those that begin, or have begun, by some day are found in the second, where
-- they are few. Behind the state and the day stands what else a list is narrowed by.
CREATE INDEX trainees_by_state
    ON trainees (provider_id, academic_cycle, state, updated_at, id, discarded_at, trn, itt_start_date);
CREATE INDEX trainees_by_start
    ON trainees (provider_id, academic_cycle, itt_start_date, state, discarded_at, trn, updated_at, id);

CREATE TRIGGER trainee_counts_insert AFTER INSERT ON trainees
WHEN NEW.discarded_at IS NULL AND NEW.state <> 'draft'
BEGIN
    -- Not by ON CONFLICT, whose meaning inside a trigger hangs on the statement that fires it.
    INSERT INTO trainee_counts
        SELECT NEW.provider_id, NEW.academic_cycle, NEW.state, NEW.trn IS NOT NULL,
               coalesce(NEW.itt_start_date, '0001-01-01'), 0
        WHERE NOT EXISTS (
            SELECT 1 FROM trainee_counts
            WHERE provider_id = NEW.provider_id AND academic_cycle = NEW.academic_cycle AND state = NEW.state
              AND has_trn = (NEW.trn IS NOT NULL) AND itt_start_date = coalesce(NEW.itt_start_date, '0001-01-01'));
    UPDATE trainee_counts SET trainees = trainees + 1
    WHERE provider_id = NEW.provider_id AND academic_cycle = NEW.academic_cycle AND state = NEW.state
      AND has_trn = (NEW.trn IS NOT NULL) AND itt_start_date = coalesce(NEW.itt_start_date, '0001-01-01');
END;

CREATE TRIGGER trainee_counts_delete AFTER DELETE ON trainees
WHEN OLD.discarded_at IS NULL AND OLD.state <> 'draft'
BEGIN
    UPDATE trainee_counts SET trainees = trainees - 1
    WHERE provider_id = OLD.provider_id AND academic_cycle = OLD.academic_cycle AND state = OLD.state
      AND has_trn = (OLD.trn IS NOT NULL) AND itt_start_date = coalesce(OLD.itt_start_date, '0001-01-01');
END;

CREATE TRIGGER trainee_counts_update AFTER UPDATE ON trainees
WHEN (OLD.provider_id, OLD.academic_cycle, OLD.state, OLD.trn IS NULL, coalesce(OLD.itt_start_date, '0001-01-01'),
      OLD.discarded_at IS NULL)
  <> (NEW.provider_id, NEW.academic_cycle, NEW.state, NEW.trn IS NULL, coalesce(NEW.itt_start_date, '0001-01-01'),
      NEW.discarded_at IS NULL)
BEGIN
    UPDATE trainee_counts SET trainees = trainees - 1
    WHERE OLD.discarded_at IS NULL AND OLD.state <> 'draft'
      AND provider_id = OLD.provider_id AND academic_cycle = OLD.academic_cycle AND state = OLD.state
      AND has_trn = (OLD.trn IS NOT NULL) AND itt_start_date = coalesce(OLD.itt_start_date, '0001-01-01');
    INSERT INTO trainee_counts
        SELECT NEW.provider_id, NEW.academic_cycle, NEW.state, NEW.trn IS NOT NULL,
               coalesce(NEW.itt_start_date, '0001-01-01'), 0
        WHERE NEW.discarded_at IS NULL AND NEW.state <> 'draft' AND NOT EXISTS (
            SELECT 1 FROM trainee_counts
            WHERE provider_id = NEW.provider_id AND academic_cycle = NEW.academic_cycle AND state = NEW.state
              AND has_trn = (NEW.trn IS NOT NULL) AND itt_start_date = coalesce(NEW.itt_start_date, '0001-01-01'));
    UPDATE trainee_counts SET trainees = trainees + 1
    WHERE NEW.discarded_at IS NULL AND NEW.state <> 'draft'
      AND provider_id = NEW.provider_id AND academic_cycle = NEW.academic_cycle AND state = NEW.state
      AND has_trn = (NEW.trn IS NOT NULL) AND itt_start_date = coalesce(NEW.itt_start_date, '0001-01-01');
END;

INSERT INTO trainee_counts
    SELECT provider_id, academic_cycle, state, trn IS NOT NULL, coalesce(itt_start_date, '0001-01-01'), count(*)
    FROM trainees
    WHERE discarded_at IS NULL AND state <> 'draft'
    GROUP BY 1, 2, 3, 4, 5;

-- The same by the day of the last change, for lists of what has changed since a moment. Only the day of that moment is
-- counted one by one.
CREATE TABLE trainee_change_counts (
    provider_id    INTEGER NOT NULL REFERENCES providers (id),
    academic_cycle INTEGER NOT NULL,
    changed_on     DATE    NOT NULL,
    state          TEXT    NOT NULL,
    has_trn        BOOLEAN NOT NULL,
    trainees       INTEGER NOT NULL,
    PRIMARY KEY (provider_id, academic_cycle, changed_on, state, has_trn)
) WITHOUT ROWID;

CREATE TRIGGER trainee_change_counts_insert AFTER INSERT ON trainees
WHEN NEW.discarded_at IS NULL AND NEW.state <> 'draft'
BEGIN
    INSERT INTO trainee_change_counts
        SELECT NEW.provider_id, NEW.academic_cycle, date(NEW.updated_at), NEW.state, NEW.trn IS NOT NULL, 0
        WHERE NOT EXISTS (
            SELECT 1 FROM trainee_change_counts
            WHERE provider_id = NEW.provider_id AND academic_cycle = NEW.academic_cycle
              AND changed_on = date(NEW.updated_at) AND state = NEW.state AND has_trn = (NEW.trn IS NOT NULL));
    UPDATE trainee_change_counts SET trainees = trainees + 1
    WHERE provider_id = NEW.provider_id AND academic_cycle = NEW.academic_cycle
      AND changed_on = date(NEW.updated_at) AND state = NEW.state AND has_trn = (NEW.trn IS NOT NULL);
END;

CREATE TRIGGER trainee_change_counts_delete AFTER DELETE ON trainees
WHEN OLD.discarded_at IS NULL AND OLD.state <> 'draft'
BEGIN
    UPDATE trainee_change_counts SET trainees = trainees - 1
    WHERE provider_id = OLD.provider_id AND academic_cycle = OLD.academic_cycle
      AND changed_on = date(OLD.updated_at) AND state = OLD.state AND has_trn = (OLD.trn IS NOT NULL);
END;

CREATE TRIGGER trainee_change_counts_update AFTER UPDATE ON trainees
WHEN (OLD.provider_id, OLD.academic_cycle, date(OLD.updated_at), OLD.state, OLD.trn IS NULL, OLD.discarded_at IS NULL)
  <> (NEW.provider_id, NEW.academic_cycle, date(NEW.updated_at), NEW.state, NEW.trn IS NULL, NEW.discarded_at IS NULL)
BEGIN
    UPDATE trainee_change_counts SET trainees = trainees - 1
    WHERE OLD.discarded_at IS NULL AND OLD.state <> 'draft'
      AND provider_id = OLD.provider_id AND academic_cycle = OLD.academic_cycle
      AND changed_on = date(OLD.updated_at) AND state = OLD.state AND has_trn = (OLD.trn IS NOT NULL);
    INSERT INTO trainee_change_counts
        SELECT NEW.provider_id, NEW.academic_cycle, date(NEW.updated_at), NEW.state, NEW.trn IS NOT NULL, 0
        WHERE NEW.discarded_at IS NULL AND NEW.state <> 'draft' AND NOT EXISTS (
            SELECT 1 FROM trainee_change_counts
            WHERE provider_id = NEW.provider_id AND academic_cycle = NEW.academic_cycle
              AND changed_on = date(NEW.updated_at) AND state = NEW.state AND has_trn = (NEW.trn IS NOT NULL));
    UPDATE trainee_change_counts SET trainees = trainees + 1
    WHERE NEW.discarded_at IS NULL AND NEW.state <> 'draft'
      AND provider_id = NEW.provider_id AND academic_cycle = NEW.academic_cycle
      AND changed_on = date(NEW.updated_at) AND state = NEW.state AND has_trn = (NEW.trn IS NOT NULL);
END;

INSERT INTO trainee_change_counts
    SELECT provider_id, academic_cycle, date(updated_at), state, trn IS NOT NULL, count(*)
    FROM trainees
    WHERE discarded_at IS NULL AND state <> 'draft'
    GROUP BY 1, 2, 3, 4, 5;

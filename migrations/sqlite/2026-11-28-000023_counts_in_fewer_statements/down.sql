DROP TRIGGER trainee_counts_insert;
DROP TRIGGER trainee_counts_update;
DROP TRIGGER trainee_change_counts_insert;
DROP TRIGGER trainee_change_counts_update;

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

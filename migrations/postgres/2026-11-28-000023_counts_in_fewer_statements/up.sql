-- A count is found and changed by one statement. As before, a writer takes a row of it that no other writer holds.
CREATE OR REPLACE FUNCTION add_to_trainee_counts(trainee trainees, change BIGINT) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    starts DATE := coalesce(trainee.itt_start_date, DATE '0001-01-01');
BEGIN
    IF trainee.discarded_at IS NOT NULL OR trainee.state = 'draft' THEN
        RETURN;
    END IF;
    UPDATE trainee_counts SET trainees = trainees + change
    WHERE id = (
        SELECT id FROM trainee_counts
        WHERE provider_id = trainee.provider_id AND academic_cycle = trainee.academic_cycle
          AND state = trainee.state AND has_trn = (trainee.trn IS NOT NULL) AND itt_start_date = starts
        LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED);
    IF NOT FOUND THEN
        INSERT INTO trainee_counts (provider_id, academic_cycle, state, has_trn, itt_start_date, trainees)
        VALUES (trainee.provider_id, trainee.academic_cycle, trainee.state, trainee.trn IS NOT NULL, starts, change);
    END IF;
    UPDATE trainee_change_counts SET trainees = trainees + change
    WHERE id = (
        SELECT id FROM trainee_change_counts
        WHERE provider_id = trainee.provider_id AND academic_cycle = trainee.academic_cycle
          AND changed_on = trainee.updated_at::DATE AND state = trainee.state AND has_trn = (trainee.trn IS NOT NULL)
        LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED);
    IF NOT FOUND THEN
        INSERT INTO trainee_change_counts (provider_id, academic_cycle, changed_on, state, has_trn, trainees)
        VALUES (trainee.provider_id, trainee.academic_cycle, trainee.updated_at::DATE, trainee.state,
                trainee.trn IS NOT NULL, change);
    END IF;
END
$$;

-- What follows the insertion of a trainee in the same transaction names its key by the sequence, whose name is this one unless
-- somebody has renamed it. To look the name up took longer than to insert what follows.
DO $$
DECLARE
    present regclass := pg_get_serial_sequence('trainees', 'id')::regclass;
BEGIN
    IF present IS DISTINCT FROM to_regclass('trainees_id_seq') THEN
        EXECUTE format('ALTER SEQUENCE %s RENAME TO trainees_id_seq', present);
    END IF;
END
$$;

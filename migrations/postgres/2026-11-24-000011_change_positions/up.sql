-- Where the last change of a trainee stands among all changes: the number of its transaction. Clients that follow changes are
-- shown those of transactions that have ended, and of all that have an older number.
ALTER TABLE trainees ADD COLUMN changed_in BIGINT NOT NULL DEFAULT 0;
ALTER TABLE trainees ALTER COLUMN changed_in SET DEFAULT pg_current_xact_id()::text::bigint;

-- Whoever changes a trainee without saying so: a server of the release before, or an operator.
CREATE FUNCTION stamp_trainee_change() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    NEW.changed_in := pg_current_xact_id()::text::bigint;
    RETURN NEW;
END
$$;

CREATE TRIGGER trainees_stamp_change BEFORE UPDATE ON trainees
FOR EACH ROW WHEN (NEW.changed_in = OLD.changed_in) EXECUTE FUNCTION stamp_trainee_change();

-- A transaction that stays open would hold up all who follow changes. They wait for it as long as it can still be committed.
CREATE FUNCTION refuse_late_change() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF clock_timestamp() - transaction_timestamp() > INTERVAL '15 seconds' THEN
        RAISE EXCEPTION 'a transaction that changes trainees must be committed within 15 seconds'
            USING ERRCODE = 'serialization_failure';
    END IF;
    RETURN NULL;
END
$$;

CREATE CONSTRAINT TRIGGER trainees_refuse_late_change AFTER INSERT OR UPDATE ON trainees
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse_late_change();

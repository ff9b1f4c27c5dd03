-- Where the last change of a trainee stands among all changes: the key of its entry in the history, or a smaller one that no
-- change before it has. Changes are committed one after the other, so this is their order.
ALTER TABLE trainees ADD COLUMN changed_in INTEGER NOT NULL DEFAULT 0;

-- Whoever changes a trainee without saying so.
CREATE TRIGGER trainees_stamp_change AFTER UPDATE OF record ON trainees
WHEN NEW.changed_in = OLD.changed_in
BEGIN
    UPDATE trainees SET changed_in = (SELECT coalesce(max(id), 0) + 1 FROM changes) WHERE id = NEW.id;
END;

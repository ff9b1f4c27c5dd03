-- Where the last change of a trainee stands among all changes: the key of its entry in the history, or a smaller one that no
-- change before it has. Changes are committed one after the other, so this is their order.
ALTER TABLE trainees ADD COLUMN changed_in INTEGER NOT NULL DEFAULT 0;

-- Whoever changes a trainee without saying so takes the key of an entry that there is not. A record that is converted was
-- there before.
CREATE TRIGGER trainees_stamp_change AFTER UPDATE OF record ON trainees
WHEN NEW.changed_in = OLD.changed_in AND OLD.record IS NOT NULL
BEGIN
    INSERT INTO sqlite_sequence (name, seq)
        SELECT 'changes', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'changes');
    UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'changes';
    UPDATE trainees SET changed_in = (SELECT seq FROM sqlite_sequence WHERE name = 'changes') WHERE id = NEW.id;
END;

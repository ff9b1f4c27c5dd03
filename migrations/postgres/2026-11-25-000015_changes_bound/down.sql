ALTER TABLE changes DROP CONSTRAINT changes_until;
INSERT INTO changes SELECT * FROM changes_other;
DROP TABLE changes_other;

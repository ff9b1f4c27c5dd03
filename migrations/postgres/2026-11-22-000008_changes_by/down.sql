ALTER TABLE changes DROP COLUMN changed_by;

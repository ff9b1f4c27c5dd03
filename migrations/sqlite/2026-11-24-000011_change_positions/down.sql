DROP TRIGGER trainees_stamp_change;
ALTER TABLE trainees DROP COLUMN changed_in;
DELETE FROM register_settings WHERE name IN ('cursor_key', 'change_generation') OR name LIKE 'change_position %';

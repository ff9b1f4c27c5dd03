DROP TRIGGER IF EXISTS trainees_refuse_late_change ON trainees;
DROP FUNCTION refuse_late_change;
DROP TRIGGER trainees_stamp_change ON trainees;
DROP FUNCTION stamp_trainee_change;
ALTER TABLE trainees DROP COLUMN changed_in;
DELETE FROM register_settings WHERE name IN ('cursor_key', 'change_generation') OR name LIKE 'change_position %';

DROP TRIGGER trainees_refuse_late_change ON trainees;
DROP FUNCTION refuse_late_change;
DROP TRIGGER trainees_stamp_change ON trainees;
DROP FUNCTION stamp_trainee_change;
ALTER TABLE trainees DROP COLUMN changed_in;
-- The key stays: cursors that it seals are refused as outdated, and not as forged, when the schema comes back.
DELETE FROM register_settings WHERE name = 'change_generation' OR name LIKE 'change_position %';

DROP TRIGGER trainees_stamp_change;
ALTER TABLE trainees DROP COLUMN changed_in;
-- The key stays: cursors that it seals are refused as outdated, and not as forged, when the schema comes back.
DELETE FROM register_settings WHERE name = 'change_generation' OR name LIKE 'change_position %';

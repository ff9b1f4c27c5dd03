ALTER TABLE invitations DROP COLUMN is_editor;
ALTER TABLE users DROP COLUMN is_editor;
DROP TABLE upload_results;
DROP TABLE upload_parts;
DROP TABLE uploads;

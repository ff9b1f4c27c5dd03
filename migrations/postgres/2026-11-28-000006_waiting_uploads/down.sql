ALTER TABLE uploads DROP COLUMN not_before;

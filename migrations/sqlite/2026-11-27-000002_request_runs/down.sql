ALTER TABLE providers DROP COLUMN logs_record_keys;
ALTER TABLE request_log DROP COLUMN record_key;
ALTER TABLE request_log DROP COLUMN run_id;
DROP TABLE request_runs;

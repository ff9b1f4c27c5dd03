DROP TRIGGER trainee_counts_update;
DROP TRIGGER trainee_counts_delete;
DROP TRIGGER trainee_counts_insert;
DROP INDEX trainees_by_start;
DROP INDEX trainees_by_state;
DROP TABLE trainee_counts;

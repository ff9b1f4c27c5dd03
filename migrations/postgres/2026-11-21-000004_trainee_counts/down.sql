DROP TRIGGER trainee_counts_truncate ON trainees;
DROP TRIGGER trainee_counts_update ON trainees;
DROP TRIGGER trainee_counts_insert_delete ON trainees;
DROP FUNCTION keep_trainee_counts;
DROP FUNCTION add_to_trainee_counts;
DROP TABLE trainee_change_counts;
DROP INDEX trainees_by_start;
DROP INDEX trainees_by_state;
DROP TABLE trainee_counts;

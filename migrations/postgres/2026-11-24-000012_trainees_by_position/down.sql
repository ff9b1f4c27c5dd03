DROP INDEX trainees_by_position;

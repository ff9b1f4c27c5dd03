DROP INDEX trainees_by_trn;
DROP INDEX trainees_awaiting_award;
DROP INDEX trainees_awaiting_trn;

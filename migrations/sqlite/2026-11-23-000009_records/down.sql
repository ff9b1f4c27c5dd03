DROP TABLE placement_schools;

ALTER TABLE former_trainee_disabilities RENAME TO trainee_disabilities;
ALTER TABLE former_withdrawals RENAME TO withdrawals;
ALTER TABLE former_placements RENAME TO placements;
ALTER TABLE former_degrees RENAME TO degrees;

DROP INDEX trainees_to_convert;
ALTER TABLE trainees DROP COLUMN record;

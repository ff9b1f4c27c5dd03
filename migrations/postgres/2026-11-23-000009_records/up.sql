-- The record of a trainee is one JSON document. The program writes it from the tables of before, which keep what they hold
-- under other names until `trainee-register migrate --finish`: so a server of the release before fails, in place of writing
-- where nobody reads.
ALTER TABLE trainees ADD COLUMN record JSON;

CREATE INDEX trainees_to_convert ON trainees (id) WHERE record IS NULL;

ALTER TABLE trainee_disabilities RENAME TO former_trainee_disabilities;
ALTER TABLE withdrawals RENAME TO former_withdrawals;
ALTER TABLE placements RENAME TO former_placements;
ALTER TABLE degrees RENAME TO former_degrees;

-- The trainees with a placement in a school; follows from their documents.
CREATE TABLE placement_schools (
    school_id   BIGINT NOT NULL REFERENCES schools (id),
    trainee_key BIGINT NOT NULL REFERENCES trainees (id) ON DELETE CASCADE,
    PRIMARY KEY (school_id, trainee_key)
);

CREATE INDEX placement_schools_by_trainee ON placement_schools (trainee_key);

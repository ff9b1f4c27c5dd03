-- Gives the table of trainees its columns of before, and the other tables of before, which were just made, the names that
-- they have until the conversion is finished.
ALTER TABLE trainees
    ALTER COLUMN record DROP NOT NULL,
    ADD COLUMN provider_trainee_id TEXT,
    ADD COLUMN application_id TEXT,
    ADD COLUMN agency_id TEXT,
    ADD COLUMN first_names TEXT,
    ADD COLUMN middle_names TEXT,
    ADD COLUMN last_name TEXT,
    ADD COLUMN previous_last_name TEXT,
    ADD COLUMN email TEXT,
    ADD COLUMN nationality TEXT,
    ADD COLUMN sex TEXT,
    ADD COLUMN ni_number TEXT,
    ADD COLUMN ethnicity TEXT,
    ADD COLUMN course_subject_1 TEXT,
    ADD COLUMN course_subject_2 TEXT,
    ADD COLUMN course_subject_3 TEXT,
    ADD COLUMN course_age_range TEXT,
    ADD COLUMN course_year TEXT,
    ADD COLUMN study_mode TEXT,
    ADD COLUMN itt_aim TEXT,
    ADD COLUMN itt_qualification_aim TEXT,
    ADD COLUMN iqts_country TEXT,
    ADD COLUMN itt_end_date DATE,
    ADD COLUMN trainee_start_date DATE,
    ADD COLUMN pg_apprenticeship_start_date DATE,
    ADD COLUMN training_initiative TEXT,
    ADD COLUMN additional_training_initiative TEXT,
    ADD COLUMN fund_code TEXT,
    ADD COLUMN funding_method TEXT,
    ADD COLUMN employing_school_urn TEXT,
    ADD COLUMN training_partner_urn TEXT,
    ADD COLUMN training_partner_ukprn TEXT,
    ADD COLUMN defer_date DATE,
    ADD COLUMN defer_reason TEXT,
    ADD COLUMN outcome_date DATE,
    ADD COLUMN reinstate_date DATE,
    ADD COLUMN slug_sent_to_registry_at TIMESTAMP,
    ADD COLUMN record_source TEXT,
    ADD COLUMN commencement_status TEXT,
    ADD COLUMN imported_facts TEXT;

CREATE INDEX trainees_to_convert ON trainees (id) WHERE record IS NULL;

ALTER TABLE trainee_disabilities RENAME TO former_trainee_disabilities;
ALTER TABLE withdrawals RENAME TO former_withdrawals;
ALTER TABLE placements RENAME TO former_placements;
ALTER TABLE degrees RENAME TO former_degrees;

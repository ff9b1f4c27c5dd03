-- Gives the table of trainees its columns of before, and the other tables of before, which were just made, the names that
-- they have until the conversion is finished.
ALTER TABLE trainees ADD COLUMN provider_trainee_id TEXT;
ALTER TABLE trainees ADD COLUMN application_id TEXT;
ALTER TABLE trainees ADD COLUMN agency_id TEXT;
ALTER TABLE trainees ADD COLUMN first_names TEXT;
ALTER TABLE trainees ADD COLUMN middle_names TEXT;
ALTER TABLE trainees ADD COLUMN last_name TEXT;
ALTER TABLE trainees ADD COLUMN previous_last_name TEXT;
ALTER TABLE trainees ADD COLUMN email TEXT;
ALTER TABLE trainees ADD COLUMN nationality TEXT;
ALTER TABLE trainees ADD COLUMN sex TEXT;
ALTER TABLE trainees ADD COLUMN ni_number TEXT;
ALTER TABLE trainees ADD COLUMN ethnicity TEXT;
ALTER TABLE trainees ADD COLUMN course_subject_1 TEXT;
ALTER TABLE trainees ADD COLUMN course_subject_2 TEXT;
ALTER TABLE trainees ADD COLUMN course_subject_3 TEXT;
ALTER TABLE trainees ADD COLUMN course_age_range TEXT;
ALTER TABLE trainees ADD COLUMN course_year TEXT;
ALTER TABLE trainees ADD COLUMN study_mode TEXT;
ALTER TABLE trainees ADD COLUMN itt_aim TEXT;
ALTER TABLE trainees ADD COLUMN itt_qualification_aim TEXT;
ALTER TABLE trainees ADD COLUMN iqts_country TEXT;
ALTER TABLE trainees ADD COLUMN itt_end_date DATE;
ALTER TABLE trainees ADD COLUMN trainee_start_date DATE;
ALTER TABLE trainees ADD COLUMN pg_apprenticeship_start_date DATE;
ALTER TABLE trainees ADD COLUMN training_initiative TEXT;
ALTER TABLE trainees ADD COLUMN additional_training_initiative TEXT;
ALTER TABLE trainees ADD COLUMN fund_code TEXT;
ALTER TABLE trainees ADD COLUMN funding_method TEXT;
ALTER TABLE trainees ADD COLUMN employing_school_urn TEXT;
ALTER TABLE trainees ADD COLUMN training_partner_urn TEXT;
ALTER TABLE trainees ADD COLUMN training_partner_ukprn TEXT;
ALTER TABLE trainees ADD COLUMN defer_date DATE;
ALTER TABLE trainees ADD COLUMN defer_reason TEXT;
ALTER TABLE trainees ADD COLUMN outcome_date DATE;
ALTER TABLE trainees ADD COLUMN reinstate_date DATE;
ALTER TABLE trainees ADD COLUMN slug_sent_to_registry_at TIMESTAMP;
ALTER TABLE trainees ADD COLUMN record_source TEXT;
ALTER TABLE trainees ADD COLUMN commencement_status TEXT;
ALTER TABLE trainees ADD COLUMN imported_facts TEXT;

CREATE INDEX trainees_to_convert ON trainees (id) WHERE record IS NULL;

ALTER TABLE trainee_disabilities RENAME TO former_trainee_disabilities;
ALTER TABLE withdrawals RENAME TO former_withdrawals;
ALTER TABLE placements RENAME TO former_placements;
ALTER TABLE degrees RENAME TO former_degrees;

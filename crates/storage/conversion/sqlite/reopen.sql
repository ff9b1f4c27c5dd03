-- Makes the tables of before, empty.
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

CREATE TABLE former_trainee_disabilities (
    trainee_key INTEGER  NOT NULL REFERENCES trainees (id) ON DELETE CASCADE,
    position    INTEGER NOT NULL, -- 1 to 9
    code        TEXT    NOT NULL,
    PRIMARY KEY (trainee_key, position)
);

CREATE TABLE former_withdrawals (
    id                           INTEGER PRIMARY KEY AUTOINCREMENT,
    trainee_key                  INTEGER NOT NULL REFERENCES trainees (id) ON DELETE CASCADE,
    previous_state               TEXT NOT NULL,
    withdrawal_date              DATE,
    "trigger"                    TEXT,
    future_interest              TEXT,
    reasons                      TEXT NOT NULL, -- codes, separated by single spaces, in the order sent
    another_reason               TEXT,
    safeguarding_concern_reasons TEXT,
    created_at                   TIMESTAMP NOT NULL,
    undone_at                    TIMESTAMP
);

CREATE INDEX withdrawals_by_trainee ON former_withdrawals (trainee_key);

CREATE TABLE former_placements (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    trainee_key  INTEGER NOT NULL REFERENCES trainees (id) ON DELETE CASCADE,
    placement_id TEXT NOT NULL UNIQUE,
    urn          TEXT,
    name         TEXT,
    postcode     TEXT,
    school_id    INTEGER REFERENCES schools (id),
    created_at   TIMESTAMP NOT NULL,
    updated_at   TIMESTAMP NOT NULL
);

CREATE INDEX placements_by_trainee ON former_placements (trainee_key);

CREATE TABLE former_degrees (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    trainee_key     INTEGER NOT NULL REFERENCES trainees (id) ON DELETE CASCADE,
    degree_id       TEXT NOT NULL UNIQUE,
    uk_degree       TEXT,
    non_uk_degree   TEXT,
    subject         TEXT,
    institution     TEXT,
    graduation_year INTEGER,
    grade           TEXT,
    other_grade     TEXT,
    country         TEXT,
    created_at      TIMESTAMP NOT NULL,
    updated_at      TIMESTAMP NOT NULL
);

CREATE INDEX degrees_by_trainee ON former_degrees (trainee_key);

CREATE INDEX trainees_to_convert ON trainees (id) WHERE record IS NULL;

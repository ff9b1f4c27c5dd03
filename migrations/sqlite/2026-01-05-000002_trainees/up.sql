CREATE TABLE trainees (
    id                              INTEGER PRIMARY KEY AUTOINCREMENT,
    provider_id                     INTEGER NOT NULL REFERENCES providers (id),
    trainee_id                      TEXT NOT NULL UNIQUE,
    revision                        INTEGER NOT NULL,
    -- What lists and the duplicate rule look for; made from the fields below on every write.
    academic_cycle                  INTEGER NOT NULL,
    last_name_folded                TEXT NOT NULL,
    first_names_folded              TEXT NOT NULL,
    email_folded                    TEXT NOT NULL,
    -- The fields of the dictionary.
    provider_trainee_id             TEXT,
    application_id                  TEXT,
    agency_id                       TEXT,
    first_names                     TEXT,
    middle_names                    TEXT,
    last_name                       TEXT,
    previous_last_name              TEXT,
    date_of_birth                   DATE,
    email                           TEXT,
    nationality                     TEXT,
    sex                             TEXT,
    ni_number                       TEXT,
    ethnicity                       TEXT,
    training_route                  TEXT,
    course_subject_1                TEXT,
    course_subject_2                TEXT,
    course_subject_3                TEXT,
    course_age_range                TEXT,
    course_year                     TEXT,
    study_mode                      TEXT,
    itt_aim                         TEXT,
    itt_qualification_aim           TEXT,
    iqts_country                    TEXT,
    itt_start_date                  DATE,
    itt_end_date                    DATE,
    trainee_start_date              DATE,
    pg_apprenticeship_start_date    DATE,
    training_initiative             TEXT,
    additional_training_initiative  TEXT,
    fund_code                       TEXT,
    funding_method                  TEXT,
    employing_school_urn            TEXT,
    training_partner_urn            TEXT,
    training_partner_ukprn          TEXT,
    trn                             TEXT,
    state                           TEXT NOT NULL,
    defer_date                      DATE,
    defer_reason                    TEXT,
    outcome_date                    DATE,
    reinstate_date                  DATE,
    created_at                      TIMESTAMP NOT NULL,
    updated_at                      TIMESTAMP NOT NULL,
    submitted_for_trn_at            TIMESTAMP,
    recommended_for_award_at        TIMESTAMP,
    awarded_at                      TIMESTAMP,
    discarded_at                    TIMESTAMP,
    slug_sent_to_registry_at        TIMESTAMP,
    record_source                   TEXT,
    commencement_status             TEXT,
    -- What only an import from an older system fills, as a JSON object.
    imported_facts                  TEXT
);

-- Lists walk along this one. Behind the order stands what they are narrowed by, so that counting and skipping need no
-- other page than the index's.
CREATE INDEX trainees_by_change
    ON trainees (provider_id, academic_cycle, updated_at, id, state, discarded_at, trn, itt_start_date);
CREATE INDEX trainees_by_likeness ON trainees (provider_id, date_of_birth, training_route, academic_cycle, last_name_folded);

CREATE TABLE trainee_disabilities (
    trainee_key INTEGER  NOT NULL REFERENCES trainees (id) ON DELETE CASCADE,
    position    INTEGER NOT NULL, -- 1 to 9
    code        TEXT    NOT NULL,
    PRIMARY KEY (trainee_key, position)
);

CREATE TABLE withdrawals (
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

CREATE INDEX withdrawals_by_trainee ON withdrawals (trainee_key);

CREATE TABLE placements (
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

CREATE INDEX placements_by_trainee ON placements (trainee_key);

CREATE TABLE degrees (
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

CREATE INDEX degrees_by_trainee ON degrees (trainee_key);

CREATE TABLE tokens (
    digest {bytes} PRIMARY KEY, -- SHA-256 of the token
    ukprn  TEXT NOT NULL
);

CREATE TABLE schools (
    urn      TEXT PRIMARY KEY,
    name     TEXT NOT NULL,
    postcode TEXT
);

CREATE TABLE partners (
    id    {key},
    urn   TEXT UNIQUE,
    ukprn TEXT
);

CREATE INDEX partners_by_ukprn ON partners (ukprn);

-- Times are milliseconds since 1970.
CREATE TABLE trainees (
    id                           {key},
    trainee_id                   TEXT NOT NULL UNIQUE,
    ukprn                        TEXT NOT NULL,
    provider_trainee_id          TEXT,
    application_id               TEXT,
    agency_id                    TEXT NOT NULL,
    trn                          TEXT,
    first_names                  TEXT NOT NULL,
    middle_names                 TEXT,
    last_name                    TEXT NOT NULL,
    previous_last_name           TEXT,
    date_of_birth                DATE NOT NULL,
    email                        TEXT NOT NULL,
    nationality                  TEXT,
    sex                          TEXT NOT NULL,
    ni_number                    TEXT,
    ethnicity                    TEXT NOT NULL,
    disabilities                 TEXT NOT NULL, -- codes by position, separated by commas
    training_route               TEXT NOT NULL,
    course_subject_1             TEXT NOT NULL,
    course_subject_2             TEXT,
    course_subject_3             TEXT,
    course_age_range             TEXT NOT NULL,
    course_year                  TEXT NOT NULL,
    study_mode                   TEXT,
    itt_aim                      TEXT NOT NULL,
    itt_qualification_aim        TEXT,
    iqts_country                 TEXT,
    itt_start_date               DATE NOT NULL,
    itt_end_date                 DATE NOT NULL,
    trainee_start_date           DATE NOT NULL,
    outcome_date                 DATE,
    reinstate_date               DATE,
    pg_apprenticeship_start_date DATE,
    created_at                   BIGINT NOT NULL,
    updated_at                   BIGINT NOT NULL,
    submitted_for_trn_at         BIGINT,
    recommended_for_award_at     BIGINT,
    awarded_at                   BIGINT,
    slug_sent_to_registry_at     BIGINT,
    training_initiative          TEXT,
    additional_training_initiative TEXT,
    fund_code                    TEXT NOT NULL,
    funding_method               TEXT NOT NULL,
    employing_school_urn         TEXT,
    training_partner_urn         TEXT,
    training_partner_ukprn       TEXT,
    state                        TEXT NOT NULL,
    defer_date                   DATE,
    defer_reason                 TEXT,
    withdrawal_date              DATE,
    withdrawal_trigger           TEXT,
    withdrawal_future_interest   TEXT,
    withdrawal_reasons           TEXT NOT NULL, -- separated by commas
    withdrawal_another_reason    TEXT,
    withdrawal_safeguarding_concern_reasons TEXT,
    -- For lists and for finding duplicates.
    academic_cycle               BIGINT NOT NULL,
    last_name_key                TEXT NOT NULL,
    first_names_key              TEXT NOT NULL,
    email_key                    TEXT NOT NULL
);

CREATE INDEX trainees_by_change ON trainees (ukprn, academic_cycle, updated_at, id);
CREATE INDEX trainees_by_state ON trainees (ukprn, academic_cycle, state, updated_at, id);
CREATE INDEX trainees_by_person
    ON trainees (ukprn, date_of_birth, training_route, academic_cycle, last_name_key);

CREATE TABLE placements (
    id           {key},
    trainee      BIGINT NOT NULL REFERENCES trainees (id),
    placement_id TEXT NOT NULL UNIQUE,
    urn          TEXT,
    name         TEXT NOT NULL,
    postcode     TEXT,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL
);

CREATE INDEX placements_by_trainee ON placements (trainee);

CREATE TABLE degrees (
    id              {key},
    trainee         BIGINT NOT NULL REFERENCES trainees (id),
    degree_id       TEXT NOT NULL UNIQUE,
    uk_degree       TEXT,
    non_uk_degree   TEXT,
    subject         TEXT NOT NULL,
    institution     TEXT,
    graduation_year BIGINT NOT NULL,
    grade           TEXT,
    country         TEXT,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL
);

CREATE INDEX degrees_by_trainee ON degrees (trainee);

-- Removes the tables of before. The indexes and triggers of the table of trainees go too: the program makes them again.
DROP TABLE former_trainee_disabilities;
DROP TABLE former_withdrawals;
DROP TABLE former_placements;
DROP TABLE former_degrees;

DROP INDEX trainees_to_convert;

CREATE TABLE new_trainees (
    id                       INTEGER PRIMARY KEY AUTOINCREMENT,
    provider_id              INTEGER NOT NULL REFERENCES providers (id),
    trainee_id               TEXT NOT NULL UNIQUE,
    revision                 INTEGER NOT NULL,
    -- What is searched, ordered or counted; made from the document on every write.
    academic_cycle           INTEGER NOT NULL,
    last_name_folded         TEXT NOT NULL,
    first_names_folded       TEXT NOT NULL,
    email_folded             TEXT NOT NULL,
    date_of_birth            DATE,
    training_route           TEXT,
    itt_start_date           DATE,
    trn                      TEXT,
    state                    TEXT NOT NULL,
    created_at               TIMESTAMP NOT NULL,
    updated_at               TIMESTAMP NOT NULL,
    submitted_for_trn_at     TIMESTAMP,
    recommended_for_award_at TIMESTAMP,
    awarded_at               TIMESTAMP,
    discarded_at             TIMESTAMP,
    -- The record as a JSON document, with placements, degrees and withdrawals.
    record                   TEXT NOT NULL
);

INSERT INTO new_trainees
    SELECT id, provider_id, trainee_id, revision, academic_cycle, last_name_folded, first_names_folded, email_folded,
           date_of_birth, training_route, itt_start_date, trn, state, created_at, updated_at, submitted_for_trn_at,
           recommended_for_award_at, awarded_at, discarded_at, record
    FROM trainees;

DELETE FROM sqlite_sequence WHERE name = 'new_trainees';
INSERT INTO sqlite_sequence (name, seq) SELECT 'new_trainees', seq FROM sqlite_sequence WHERE name = 'trainees';
DROP TABLE trainees;
ALTER TABLE new_trainees RENAME TO trainees;

CREATE TABLE providers (
    id         INTEGER   PRIMARY KEY AUTOINCREMENT,
    ukprn      TEXT      NOT NULL UNIQUE,
    name       TEXT      NOT NULL,
    created_at TIMESTAMP NOT NULL,
    closed_at  TIMESTAMP
);

CREATE TABLE tokens (
    id           INTEGER   PRIMARY KEY AUTOINCREMENT,
    provider_id  INTEGER   NOT NULL REFERENCES providers (id),
    name         TEXT      NOT NULL,
    digest       TEXT      NOT NULL UNIQUE, -- SHA-256 of the whole token text, in hex
    created_by   TEXT      NOT NULL,
    created_at   TIMESTAMP NOT NULL,
    expires_on   DATE      NOT NULL,        -- the token is invalid from the start of this day
    last_used_on DATE,
    revoked_at   TIMESTAMP,
    revoked_by   TEXT
);

CREATE INDEX tokens_by_provider ON tokens (provider_id);

CREATE TABLE schools (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    urn      TEXT    NOT NULL UNIQUE,
    name     TEXT    NOT NULL,
    postcode TEXT,
    open     BOOLEAN NOT NULL
);

CREATE TABLE training_partners (
    id    INTEGER PRIMARY KEY AUTOINCREMENT,
    urn   TEXT    UNIQUE,
    ukprn TEXT,
    name  TEXT    NOT NULL
);

CREATE INDEX training_partners_by_ukprn ON training_partners (ukprn);

CREATE TABLE trainees (
    id                       INTEGER PRIMARY KEY AUTOINCREMENT,
    provider_id              INTEGER NOT NULL REFERENCES providers (id),
    trainee_id               TEXT NOT NULL UNIQUE,
    revision                 INTEGER NOT NULL,
    -- Columns for searching, ordering and counting. Every write derives them from the document.
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
    record                   TEXT NOT NULL,
    -- The position of the last change among all changes: the key of its entry in the history, or a smaller key
    -- that no earlier change has. SQLite commits one change after the other, in the order of positions.
    changed_in               INTEGER NOT NULL DEFAULT 0
);

-- Lists use this index. The columns after the order are those of the filters of lists, so that counting and skipping
-- read only the index.
CREATE INDEX trainees_by_change
    ON trainees (provider_id, academic_cycle, updated_at, id, state, discarded_at, trn, itt_start_date);

-- Lists of one state use this index.
CREATE INDEX trainees_by_state
    ON trainees (provider_id, academic_cycle, state, updated_at, id, discarded_at, trn, itt_start_date);

-- Finds trainees by the start date of their training, for short lists.
CREATE INDEX trainees_by_start
    ON trainees (provider_id, academic_cycle, itt_start_date, state, discarded_at, trn, updated_at, id);

-- Finds duplicate registrations of a person.
CREATE INDEX trainees_by_likeness ON trainees (provider_id, date_of_birth, training_route, academic_cycle, last_name_folded);

-- The change feed uses this index.
CREATE INDEX trainees_by_position ON trainees (provider_id, changed_in, id);

-- The trainees who wait for a teacher reference number or for the confirmation of an award, longest first.
CREATE INDEX trainees_awaiting_trn ON trainees (submitted_for_trn_at, id)
    WHERE trn IS NULL AND discarded_at IS NULL;
CREATE INDEX trainees_awaiting_award ON trainees (recommended_for_award_at, id)
    WHERE awarded_at IS NULL AND discarded_at IS NULL AND recommended_for_award_at IS NOT NULL;

-- Not unique: a person has the same number on all records, such as those of several courses or providers.
CREATE INDEX trainees_by_trn ON trainees (trn) WHERE trn IS NOT NULL;

-- The trainees with a placement in a school. Every write derives it from the documents.
CREATE TABLE placement_schools (
    school_id   INTEGER NOT NULL REFERENCES schools (id),
    trainee_key INTEGER NOT NULL REFERENCES trainees (id) ON DELETE CASCADE,
    PRIMARY KEY (school_id, trainee_key)
) WITHOUT ROWID;

CREATE INDEX placement_schools_by_trainee ON placement_schools (trainee_key);

-- The changes of each request, written in the transaction of the change.
CREATE TABLE changes (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    trainee_key INTEGER NOT NULL REFERENCES trainees (id) ON DELETE CASCADE,
    changed_at  TIMESTAMP NOT NULL,
    token_id    INTEGER REFERENCES tokens (id), -- null for a change by a command or the server
    request_id  TEXT,
    version     TEXT,
    operation   TEXT NOT NULL, -- the endpoint, or the command
    -- A JSON object: field to [old value, new value]. Fields of placements and degrees have their identifier as a prefix.
    fields      TEXT NOT NULL,
    changed_by  TEXT -- the user who ran the command; null for a change by a token or the server
);

CREATE INDEX changes_by_trainee ON changes (trainee_key, id);

-- Sets the position of a change whose statement does not set it, such as a manual update by an operator, to a key that
-- no entry of the history has.
CREATE TRIGGER trainees_stamp_change AFTER UPDATE OF record ON trainees
WHEN NEW.changed_in = OLD.changed_in
BEGIN
    INSERT INTO sqlite_sequence (name, seq)
        SELECT 'changes', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'changes');
    UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'changes';
    UPDATE trainees SET changed_in = (SELECT seq FROM sqlite_sequence WHERE name = 'changes') WHERE id = NEW.id;
END;

-- The numbers of visible trainees for each list and each value of its filters, so that requests need not count trainees.
-- Triggers maintain the counts for every program that writes.
CREATE TABLE trainee_counts (
    provider_id    INTEGER NOT NULL REFERENCES providers (id),
    academic_cycle INTEGER NOT NULL,
    state          TEXT    NOT NULL,
    has_trn        BOOLEAN NOT NULL,
    itt_start_date DATE    NOT NULL, -- 0001-01-01 for trainees without one
    trainees       INTEGER NOT NULL,
    PRIMARY KEY (provider_id, academic_cycle, state, has_trn, itt_start_date)
) WITHOUT ROWID;

-- The trigger inserts a count if its UPDATE changed no row. The trigger does not use ON CONFLICT, because the meaning of
-- ON CONFLICT inside a trigger depends on the statement that fires the trigger.
CREATE TRIGGER trainee_counts_insert AFTER INSERT ON trainees
WHEN NEW.discarded_at IS NULL AND NEW.state <> 'draft'
BEGIN
    UPDATE trainee_counts SET trainees = trainees + 1
    WHERE provider_id = NEW.provider_id AND academic_cycle = NEW.academic_cycle AND state = NEW.state
      AND has_trn = (NEW.trn IS NOT NULL) AND itt_start_date = coalesce(NEW.itt_start_date, '0001-01-01');
    INSERT INTO trainee_counts
        SELECT NEW.provider_id, NEW.academic_cycle, NEW.state, NEW.trn IS NOT NULL,
               coalesce(NEW.itt_start_date, '0001-01-01'), 1
        WHERE changes() = 0;
END;

CREATE TRIGGER trainee_counts_delete AFTER DELETE ON trainees
WHEN OLD.discarded_at IS NULL AND OLD.state <> 'draft'
BEGIN
    UPDATE trainee_counts SET trainees = trainees - 1
    WHERE provider_id = OLD.provider_id AND academic_cycle = OLD.academic_cycle AND state = OLD.state
      AND has_trn = (OLD.trn IS NOT NULL) AND itt_start_date = coalesce(OLD.itt_start_date, '0001-01-01');
END;

CREATE TRIGGER trainee_counts_update AFTER UPDATE ON trainees
WHEN (OLD.provider_id, OLD.academic_cycle, OLD.state, OLD.trn IS NULL, coalesce(OLD.itt_start_date, '0001-01-01'),
      OLD.discarded_at IS NULL)
  <> (NEW.provider_id, NEW.academic_cycle, NEW.state, NEW.trn IS NULL, coalesce(NEW.itt_start_date, '0001-01-01'),
      NEW.discarded_at IS NULL)
BEGIN
    UPDATE trainee_counts SET trainees = trainees - 1
    WHERE OLD.discarded_at IS NULL AND OLD.state <> 'draft'
      AND provider_id = OLD.provider_id AND academic_cycle = OLD.academic_cycle AND state = OLD.state
      AND has_trn = (OLD.trn IS NOT NULL) AND itt_start_date = coalesce(OLD.itt_start_date, '0001-01-01');
    UPDATE trainee_counts SET trainees = trainees + 1
    WHERE NEW.discarded_at IS NULL AND NEW.state <> 'draft'
      AND provider_id = NEW.provider_id AND academic_cycle = NEW.academic_cycle AND state = NEW.state
      AND has_trn = (NEW.trn IS NOT NULL) AND itt_start_date = coalesce(NEW.itt_start_date, '0001-01-01');
    INSERT INTO trainee_counts
        SELECT NEW.provider_id, NEW.academic_cycle, NEW.state, NEW.trn IS NOT NULL,
               coalesce(NEW.itt_start_date, '0001-01-01'), 1
        WHERE changes() = 0 AND NEW.discarded_at IS NULL AND NEW.state <> 'draft';
END;

-- Like trainee_counts, but by the day of the last change, for lists of changes since a timestamp. Requests count the
-- trainees of the day of the timestamp individually.
CREATE TABLE trainee_change_counts (
    provider_id    INTEGER NOT NULL REFERENCES providers (id),
    academic_cycle INTEGER NOT NULL,
    changed_on     DATE    NOT NULL,
    state          TEXT    NOT NULL,
    has_trn        BOOLEAN NOT NULL,
    trainees       INTEGER NOT NULL,
    PRIMARY KEY (provider_id, academic_cycle, changed_on, state, has_trn)
) WITHOUT ROWID;

CREATE TRIGGER trainee_change_counts_insert AFTER INSERT ON trainees
WHEN NEW.discarded_at IS NULL AND NEW.state <> 'draft'
BEGIN
    UPDATE trainee_change_counts SET trainees = trainees + 1
    WHERE provider_id = NEW.provider_id AND academic_cycle = NEW.academic_cycle
      AND changed_on = date(NEW.updated_at) AND state = NEW.state AND has_trn = (NEW.trn IS NOT NULL);
    INSERT INTO trainee_change_counts
        SELECT NEW.provider_id, NEW.academic_cycle, date(NEW.updated_at), NEW.state, NEW.trn IS NOT NULL, 1
        WHERE changes() = 0;
END;

CREATE TRIGGER trainee_change_counts_delete AFTER DELETE ON trainees
WHEN OLD.discarded_at IS NULL AND OLD.state <> 'draft'
BEGIN
    UPDATE trainee_change_counts SET trainees = trainees - 1
    WHERE provider_id = OLD.provider_id AND academic_cycle = OLD.academic_cycle
      AND changed_on = date(OLD.updated_at) AND state = OLD.state AND has_trn = (OLD.trn IS NOT NULL);
END;

CREATE TRIGGER trainee_change_counts_update AFTER UPDATE ON trainees
WHEN (OLD.provider_id, OLD.academic_cycle, date(OLD.updated_at), OLD.state, OLD.trn IS NULL, OLD.discarded_at IS NULL)
  <> (NEW.provider_id, NEW.academic_cycle, date(NEW.updated_at), NEW.state, NEW.trn IS NULL, NEW.discarded_at IS NULL)
BEGIN
    UPDATE trainee_change_counts SET trainees = trainees - 1
    WHERE OLD.discarded_at IS NULL AND OLD.state <> 'draft'
      AND provider_id = OLD.provider_id AND academic_cycle = OLD.academic_cycle
      AND changed_on = date(OLD.updated_at) AND state = OLD.state AND has_trn = (OLD.trn IS NOT NULL);
    UPDATE trainee_change_counts SET trainees = trainees + 1
    WHERE NEW.discarded_at IS NULL AND NEW.state <> 'draft'
      AND provider_id = NEW.provider_id AND academic_cycle = NEW.academic_cycle
      AND changed_on = date(NEW.updated_at) AND state = NEW.state AND has_trn = (NEW.trn IS NOT NULL);
    INSERT INTO trainee_change_counts
        SELECT NEW.provider_id, NEW.academic_cycle, date(NEW.updated_at), NEW.state, NEW.trn IS NOT NULL, 1
        WHERE changes() = 0 AND NEW.discarded_at IS NULL AND NEW.state <> 'draft';
END;

-- Replies to requests with an Idempotency-Key, written in the transaction of the change and valid for 24 hours.
CREATE TABLE replies (
    provider_id     INTEGER NOT NULL REFERENCES providers (id),
    idempotency_key TEXT NOT NULL,
    request_digest  TEXT NOT NULL, -- SHA-256 of method, path and body, in hex
    status          INTEGER NOT NULL,
    headers         TEXT NOT NULL, -- a JSON list of [name, value]
    body            TEXT NOT NULL,
    created_at      TIMESTAMP NOT NULL,
    PRIMARY KEY (provider_id, idempotency_key)
);

CREATE INDEX replies_by_age ON replies (created_at);

-- Used on PostgreSQL only, where writes run concurrently. SQLite runs one write after the other, and both tables stay empty.
CREATE TABLE lock_stripes (
    stripe INTEGER PRIMARY KEY NOT NULL
);

CREATE TABLE idempotency_locks (
    digest  TEXT PRIMARY KEY NOT NULL,
    used_at TIMESTAMP NOT NULL
);

CREATE INDEX idempotency_locks_by_age ON idempotency_locks (used_at);

-- The erased trainees. Besides these rows, only a row of `trainees` with the identifier remains.
CREATE TABLE erasures (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    provider_id INTEGER   NOT NULL REFERENCES providers (id),
    -- No reference: an erased trainee may be missing from a restored backup.
    trainee_id  TEXT      NOT NULL UNIQUE,
    erased_at   TIMESTAMP NOT NULL,
    erased_by   TEXT      NOT NULL,
    ground      TEXT      NOT NULL,
    entries     INTEGER   NOT NULL -- the number of removed entries of the history
);

-- The users of the settings. Each row is the access of one person to one organisation. A row without a provider belongs to
-- an operator of the service. Rows stay after the access is removed, because the activity log refers to their numbers.
CREATE TABLE users (
    id                INTEGER PRIMARY KEY AUTOINCREMENT,
    provider_id       INTEGER REFERENCES providers (id),
    role              TEXT NOT NULL CHECK (role IN ('admin', 'viewer', 'operator')),
    email             TEXT NOT NULL, -- in lower case; empty once the user is erased
    issuer            TEXT,          -- of the OpenID Connect identity
    subject           TEXT,
    created_at        TIMESTAMP NOT NULL,
    created_by        TEXT NOT NULL,
    last_signed_in_at TIMESTAMP,
    removed_at        TIMESTAMP,
    removed_by        TEXT,
    CHECK ((provider_id IS NULL) = (role = 'operator'))
);

CREATE UNIQUE INDEX users_by_email ON users (COALESCE(provider_id, 0), email) WHERE removed_at IS NULL;

-- An identity has at most one user per organisation, and at most one operator.
CREATE UNIQUE INDEX users_by_identity ON users (issuer, subject, COALESCE(provider_id, 0))
    WHERE removed_at IS NULL;

-- Single-use sign-in links, identified by the digests of their secrets.
CREATE TABLE invitations (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    digest      TEXT NOT NULL UNIQUE,
    provider_id INTEGER REFERENCES providers (id),
    role        TEXT NOT NULL CHECK (role IN ('admin', 'viewer', 'operator')),
    email       TEXT NOT NULL,
    created_at  TIMESTAMP NOT NULL,
    created_by  TEXT NOT NULL,
    expires_at  TIMESTAMP NOT NULL,
    used_at     TIMESTAMP,
    CHECK ((provider_id IS NULL) = (role = 'operator'))
);

CREATE INDEX invitations_by_expiry ON invitations (expires_at);

-- Browser sessions, identified by the digests of the secrets in their cookies.
CREATE TABLE sign_in_sessions (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    digest       TEXT NOT NULL UNIQUE,
    user_id      INTEGER NOT NULL REFERENCES users (id),
    created_at   TIMESTAMP NOT NULL,
    last_seen_at TIMESTAMP NOT NULL,
    ended_at     TIMESTAMP
);

CREATE INDEX sign_in_sessions_by_user ON sign_in_sessions (user_id);
CREATE INDEX sign_in_sessions_by_creation ON sign_in_sessions (created_at);

-- The actions of users in the settings and of commands for users and tokens. Users are identified by numbers, never by
-- e-mail addresses.
CREATE TABLE activity_log (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    acted_at    TIMESTAMP NOT NULL,
    user_id     INTEGER REFERENCES users (id),
    acted_by    TEXT,          -- the user who ran the command
    provider_id INTEGER REFERENCES providers (id),
    action      TEXT NOT NULL,
    subject     TEXT NOT NULL, -- such as "token 3"
    detail      TEXT NOT NULL,
    request_id  TEXT,
    address     TEXT,
    CHECK ((user_id IS NULL) <> (acted_by IS NULL))
);

CREATE INDEX activity_log_by_provider ON activity_log (provider_id, id);
CREATE INDEX activity_log_by_date ON activity_log (acted_at);

-- Sign-ins that wait for the reply of the OpenID Connect issuer, identified by the digests of the state and of the browser's
-- cookie. The reply deletes the row.
CREATE TABLE sign_in_attempts (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    digest         TEXT NOT NULL UNIQUE,
    browser_digest TEXT NOT NULL,
    nonce          TEXT NOT NULL,
    code_verifier  TEXT NOT NULL,
    expires_at     TIMESTAMP NOT NULL
);

CREATE INDEX sign_in_attempts_by_expiry ON sign_in_attempts (expires_at);

-- Sign-ins with access to several organisations that wait for the choice of one. The choice deletes the row.
CREATE TABLE sign_in_choices (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    digest         TEXT NOT NULL UNIQUE,
    browser_digest TEXT NOT NULL,
    issuer         TEXT NOT NULL,
    subject        TEXT NOT NULL,
    email          TEXT,          -- in lower case; null if the issuer has not verified one
    ukprns         TEXT NOT NULL, -- those of the claim, separated by commas
    role           TEXT NOT NULL CHECK (role IN ('admin', 'viewer')),
    is_operator    BOOLEAN NOT NULL,
    expires_at     TIMESTAMP NOT NULL
);

CREATE INDEX sign_in_choices_by_expiry ON sign_in_choices (expires_at);

-- The number of requests of each token, by day. Contains no bodies and no values, and only names that the program defines.
CREATE TABLE usage_by_day (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    day              DATE NOT NULL,
    token_id         INTEGER NOT NULL REFERENCES tokens (id),
    version          TEXT NOT NULL,
    endpoint         TEXT NOT NULL,
    name             TEXT NOT NULL, -- a name of another version in the requests; empty for the count of all requests
    requests         INTEGER NOT NULL,
    first_at         TIMESTAMP NOT NULL,
    first_request_id TEXT NOT NULL,
    last_at          TIMESTAMP NOT NULL,
    last_request_id  TEXT NOT NULL,
    UNIQUE (day, token_id, version, endpoint, name)
);

-- Accepted writes of a version that were checked in another version, and the number that the other version would accept.
CREATE TABLE shadow_checks (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    day      DATE NOT NULL,
    token_id INTEGER NOT NULL REFERENCES tokens (id),
    version  TEXT NOT NULL,
    against  TEXT NOT NULL, -- the version that they were tried in
    checked  INTEGER NOT NULL,
    valid    INTEGER NOT NULL,
    UNIQUE (day, token_id, version, against)
);

-- The problems of the writes that the other version would refuse: fields, with their names in that version, and codes.
CREATE TABLE shadow_problems (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    day      DATE NOT NULL,
    token_id INTEGER NOT NULL REFERENCES tokens (id),
    version  TEXT NOT NULL,
    against  TEXT NOT NULL,
    field    TEXT NOT NULL,
    code     TEXT NOT NULL,
    writes   INTEGER NOT NULL,
    UNIQUE (day, token_id, version, against, field, code)
);

-- Requests of each provider: the refused requests of the last days and the last accepted requests. Contains no paths, bodies
-- or values, only endpoints, statuses, and the codes and fields of problems.
CREATE TABLE request_log (
    id                INTEGER PRIMARY KEY AUTOINCREMENT,
    provider_id       INTEGER   NOT NULL REFERENCES providers (id),
    accepted          BOOLEAN   NOT NULL,
    answered_at       TIMESTAMP NOT NULL,
    token_id          INTEGER   NOT NULL REFERENCES tokens (id),
    version           TEXT      NOT NULL,
    endpoint          TEXT      NOT NULL,
    method            TEXT      NOT NULL,
    status            INTEGER   NOT NULL,
    item              INTEGER, -- the position in a batch, from 0; null for a request as a whole
    request_id        TEXT      NOT NULL,
    problems          TEXT      NOT NULL, -- an array of [code, field]
    problems_left_out INTEGER   NOT NULL
);

CREATE INDEX request_log_by_provider ON request_log (provider_id, accepted, answered_at, id);

-- Imports of files: the numbers of rows by result, and the refused rows without their values.
CREATE TABLE imports (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    imported_at     TIMESTAMP NOT NULL,
    kind            TEXT NOT NULL CHECK (kind IN ('schools', 'partners', 'trainees')),
    operation       TEXT NOT NULL, -- such as "school import"
    user_id         INTEGER REFERENCES users (id),
    imported_by     TEXT,          -- the user who ran the command
    added           INTEGER NOT NULL,
    changed         INTEGER NOT NULL,
    unchanged       INTEGER NOT NULL,
    refused         INTEGER NOT NULL,
    refused_rows    TEXT NOT NULL, -- an array of up to 1,000 [line, problem]
    stopped_at_line INTEGER, -- the first line that may not be processed; null if the whole file was processed
    CHECK ((user_id IS NULL) <> (imported_by IS NULL))
);

CREATE INDEX imports_by_date ON imports (imported_at);

-- Settings of the whole register, one row for each.
CREATE TABLE register_settings (
    name  TEXT PRIMARY KEY NOT NULL,
    value TEXT NOT NULL,
    CHECK (name <> 'environment' OR value IN ('sandbox', 'production'))
);

-- One row for each write, each refused request, and each item of a batch or row of a file. Rows are kept for 30 days. Only a
-- row with a record key has messages that repeat values, so that an erasure finds them. The job that adds rows has read the
-- provider, and providers, tokens and users are never removed, so no row needs the cost of a foreign key.
CREATE TABLE requests (
    id                INTEGER PRIMARY KEY,
    provider_id       INTEGER NOT NULL,
    answered_at       TIMESTAMP NOT NULL,
    token_id          INTEGER,
    user_id           INTEGER,
    version           TEXT NOT NULL,
    endpoint          TEXT NOT NULL,
    status            INTEGER NOT NULL,
    result            TEXT NOT NULL, -- for the record
    refused           BOOLEAN NOT NULL,
    request_id        TEXT NOT NULL,
    in_batch          BOOLEAN NOT NULL, -- whether request_id identifies a batch or an upload
    item              INTEGER, -- the position in the batch or upload, from 0; null for a request as a whole
    record_key        TEXT,
    names             TEXT, -- an array of names of other versions
    problems          TEXT, -- an array of [code, field, message]
    problems_left_out INTEGER NOT NULL,
    newest_problems   TEXT, -- an array of [code, field] that the newest version would report; null if it was not asked
    CHECK ((token_id IS NULL) <> (user_id IS NULL))
);

CREATE INDEX requests_by_provider ON requests (provider_id, answered_at, id);
CREATE INDEX refused_requests ON requests (provider_id, answered_at, id) WHERE refused;

-- The requests of each token by day, in the kinds that usage and readiness report.
CREATE TABLE request_totals (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    day              DATE NOT NULL,
    token_id         INTEGER NOT NULL REFERENCES tokens (id),
    version          TEXT NOT NULL,
    endpoint         TEXT NOT NULL,
    status           INTEGER NOT NULL, -- 0 where it was not counted
    kind             TEXT NOT NULL CHECK (kind IN ('request', 'name', 'check', 'problem')),
    detail           TEXT NOT NULL, -- a name of another version; or the version of a check, with the code and the field of a problem
    requests         INTEGER NOT NULL,
    first_at         TIMESTAMP NOT NULL,
    first_request_id TEXT NOT NULL,
    last_at          TIMESTAMP NOT NULL,
    last_request_id  TEXT NOT NULL,
    UNIQUE (token_id, day, version, endpoint, status, kind, detail)
);

CREATE INDEX request_totals_by_day ON request_totals (day);

INSERT INTO request_totals (day, token_id, version, endpoint, status, kind, detail, requests, first_at, first_request_id,
    last_at, last_request_id)
    SELECT day, token_id, version, endpoint, 0, CASE name WHEN '' THEN 'request' ELSE 'name' END, name, requests, first_at,
           first_request_id, last_at, last_request_id
    FROM usage_by_day;
-- The status of a check is that of the newest version.
INSERT INTO request_totals (day, token_id, version, endpoint, status, kind, detail, requests, first_at, first_request_id,
    last_at, last_request_id)
    SELECT day, token_id, version, '', 200, 'check', against, valid, day || ' 00:00:00', '', day || ' 00:00:00', ''
    FROM shadow_checks
    WHERE valid > 0;
INSERT INTO request_totals (day, token_id, version, endpoint, status, kind, detail, requests, first_at, first_request_id,
    last_at, last_request_id)
    SELECT day, token_id, version, '', 422, 'check', against, checked - valid, day || ' 00:00:00', '', day || ' 00:00:00', ''
    FROM shadow_checks
    WHERE checked > valid;
INSERT INTO request_totals (day, token_id, version, endpoint, status, kind, detail, requests, first_at, first_request_id,
    last_at, last_request_id)
    SELECT day, token_id, version, '', 422, 'problem', against || ' ' || code || ' ' || field, writes, day || ' 00:00:00', '',
           day || ' 00:00:00', ''
    FROM shadow_problems;

DROP TABLE usage_by_day;
DROP TABLE shadow_checks;
DROP TABLE shadow_problems;
DROP TABLE request_log;
DROP TABLE request_runs;

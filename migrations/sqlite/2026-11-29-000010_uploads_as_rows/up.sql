-- The rows of uploaded files, worked on in the background by any server. They replace files that were sealed for one browser.
-- Uploads that are stored now are deleted. Nothing here is copied or in backups.
DROP TABLE upload_results;
DROP TABLE upload_parts;
DROP TABLE uploads;

CREATE TABLE uploads (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    provider_id  INTEGER NOT NULL REFERENCES providers (id),
    user_id      INTEGER NOT NULL REFERENCES users (id),
    state        TEXT NOT NULL,
    rows         INTEGER NOT NULL, -- the number of rows of the file, without its headings
    content      TEXT NOT NULL,    -- what is known of the file as a whole: JSON that the program defines; blank after 24 hours
    created_at   TIMESTAMP NOT NULL,
    sent_at      TIMESTAMP,        -- when sending began; such an upload becomes a report that is kept for 30 days
    worked_until TIMESTAMP         -- the lease of the server that works on the rows
);

CREATE INDEX uploads_by_provider ON uploads (provider_id, id);
CREATE INDEX uploads_by_age ON uploads (created_at);

CREATE TABLE upload_rows (
    upload_id  INTEGER NOT NULL REFERENCES uploads (id) ON DELETE CASCADE,
    line       INTEGER NOT NULL, -- the first line of the row in the file, from 1
    status     TEXT NOT NULL,
    record_key TEXT,             -- the provider's key of the trainee
    trainee_id TEXT,
    cells      TEXT NOT NULL,    -- separated by U+001F; blank after the row was sent, or after 24 hours
    details    TEXT NOT NULL,    -- JSON that the program defines; blank like the cells
    problems   TEXT NOT NULL,    -- the numbers of its problems, separated by commas
    PRIMARY KEY (upload_id, line)
);

CREATE INDEX upload_rows_by_status ON upload_rows (upload_id, status, line);

-- The different problems of an upload. Thousands of rows can have the same one.
CREATE TABLE upload_problems (
    upload_id INTEGER NOT NULL REFERENCES uploads (id) ON DELETE CASCADE,
    number    INTEGER NOT NULL, -- within the upload, from 1
    digest    INTEGER NOT NULL, -- of heading and words
    heading   TEXT NOT NULL, -- of the column; blank for a problem of the whole row
    words     TEXT NOT NULL,
    rows      INTEGER NOT NULL, -- the number of rows with the problem
    PRIMARY KEY (upload_id, number)
);

CREATE UNIQUE INDEX upload_problems_by_digest ON upload_problems (upload_id, digest);

-- Digests, because the first row of a file without headings is about a trainee.
CREATE TABLE upload_headings (
    provider_id INTEGER PRIMARY KEY REFERENCES providers (id),
    names       TEXT NOT NULL -- JSON that the program defines: digests of headings, with the names that were chosen for them
);

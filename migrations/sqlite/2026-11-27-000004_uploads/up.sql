-- The files that users upload, and what their rows lead to. The content is sealed with a key that only the user's browser
-- has. Rows are removed after an hour, and are neither copied nor in backups.
CREATE TABLE uploads (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    provider_id  INTEGER NOT NULL REFERENCES providers (id),
    user_id      INTEGER NOT NULL REFERENCES users (id),
    file_digest  TEXT NOT NULL,    -- HMAC of the file under the browser's key, in hex
    state        TEXT NOT NULL CHECK (state IN ('received', 'checking', 'checked', 'sending', 'sent')),
    rows         INTEGER NOT NULL, -- the number of rows of the file, without its header
    column_names TEXT NOT NULL,    -- the assigned columns: a JSON list of names that the program defines
    repairs      TEXT NOT NULL,    -- the accepted repairs of columns: a JSON list
    created_at   TIMESTAMP NOT NULL,
    delete_at    TIMESTAMP NOT NULL,
    worked_until TIMESTAMP         -- the lease of the server that checks or sends the rows
);

CREATE INDEX uploads_by_user ON uploads (provider_id, user_id, id);
CREATE INDEX uploads_by_deletion ON uploads (delete_at);

CREATE TABLE upload_parts (
    upload_id INTEGER NOT NULL REFERENCES uploads (id) ON DELETE CASCADE,
    part      INTEGER NOT NULL, -- from 0
    content   TEXT NOT NULL,    -- sealed, in Base64
    PRIMARY KEY (upload_id, part)
);

CREATE TABLE upload_results (
    upload_id INTEGER NOT NULL REFERENCES uploads (id) ON DELETE CASCADE,
    stage     TEXT NOT NULL CHECK (stage IN ('check', 'send')),
    line      INTEGER NOT NULL, -- the first line of the row, from 1
    kind      TEXT NOT NULL,
    content   TEXT NOT NULL,    -- sealed, in Base64
    PRIMARY KEY (upload_id, stage, line)
);

CREATE INDEX upload_results_by_kind ON upload_results (upload_id, stage, kind, line);

-- Users with the role 'viewer' who can upload. Servers of the earlier release treat them as viewers.
ALTER TABLE users ADD COLUMN is_editor BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE invitations ADD COLUMN is_editor BOOLEAN NOT NULL DEFAULT FALSE;

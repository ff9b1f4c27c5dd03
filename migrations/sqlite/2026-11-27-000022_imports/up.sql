-- Imports of files: what became of the rows, and which were refused, without any value of theirs.
CREATE TABLE imports (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    imported_at     TIMESTAMP NOT NULL,
    kind            TEXT NOT NULL CHECK (kind IN ('schools', 'partners', 'trainees')),
    operation       TEXT NOT NULL, -- such as "school import"
    user_id         INTEGER REFERENCES users (id),
    imported_by     TEXT,          -- of a command: who ran it
    added           INTEGER NOT NULL,
    changed         INTEGER NOT NULL,
    unchanged       INTEGER NOT NULL,
    refused         INTEGER NOT NULL,
    refused_rows    TEXT NOT NULL, -- an array of [line, problem], 1,000 at most
    stopped_at_line INTEGER, -- the first line that may not be done; null where the file was done to its end
    CHECK ((user_id IS NULL) <> (imported_by IS NULL))
);

CREATE INDEX imports_by_date ON imports (imported_at);

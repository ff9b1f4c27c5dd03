-- The months of the history and of the counts of usage that were written to archive files. Once a month is removed, its file
-- is the only place where its entries are.
CREATE TABLE archived_months (
    id               INTEGER   PRIMARY KEY AUTOINCREMENT,
    kind             TEXT      NOT NULL, -- history or usage
    month            DATE      NOT NULL, -- its first day
    entries          INTEGER   NOT NULL, -- in the file
    first_entry      INTEGER   NOT NULL, -- the least and the greatest key of an entry; 0 for usage
    last_entry       INTEGER   NOT NULL,
    bytes            INTEGER   NOT NULL, -- of the file
    digest           TEXT      NOT NULL, -- SHA-256 of the file, in hex
    archived_at      TIMESTAMP NOT NULL,
    removal_begun_at TIMESTAMP,          -- from then on entries of the month may be gone
    removed_at       TIMESTAMP,
    UNIQUE (kind, month)
);

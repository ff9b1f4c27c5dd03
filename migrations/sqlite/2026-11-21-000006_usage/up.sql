-- What tokens ask for, by day: no bodies, no values, and no name but one that the program itself has.
CREATE TABLE usage_by_day (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    day              DATE NOT NULL,
    token_id         INTEGER NOT NULL REFERENCES tokens (id),
    version          TEXT NOT NULL,
    endpoint         TEXT NOT NULL,
    name             TEXT NOT NULL, -- a name of other versions that was sent; empty where all requests are counted
    requests         INTEGER NOT NULL,
    first_at         TIMESTAMP NOT NULL,
    first_request_id TEXT NOT NULL,
    last_at          TIMESTAMP NOT NULL,
    last_request_id  TEXT NOT NULL,
    UNIQUE (day, token_id, version, endpoint, name)
);

-- Accepted writes of a version that were tried in another one, and how many of them would be accepted there.
CREATE TABLE shadow_checks (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    day      DATE NOT NULL,
    token_id INTEGER NOT NULL REFERENCES tokens (id),
    version  TEXT NOT NULL,
    against  TEXT NOT NULL, -- the version in which they were tried
    checked  INTEGER NOT NULL,
    valid    INTEGER NOT NULL,
    UNIQUE (day, token_id, version, against)
);

-- What stood against the others: fields by their names in the other version, and codes of problems.
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

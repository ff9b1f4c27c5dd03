-- Who may sign in to the settings: the access of one person to one organisation. Without a provider it is the service's
-- operators. A row stays when the access is removed, since the activity log names it by its number.
CREATE TABLE users (
    id                INTEGER PRIMARY KEY AUTOINCREMENT,
    provider_id       INTEGER REFERENCES providers (id),
    role              TEXT NOT NULL CHECK (role IN ('admin', 'viewer', 'operator')),
    email             TEXT NOT NULL, -- in lower case; empty once the user is erased
    issuer            TEXT,          -- of an identity in OpenID Connect
    subject           TEXT,
    created_at        TIMESTAMP NOT NULL,
    created_by        TEXT NOT NULL,
    last_signed_in_at TIMESTAMP,
    removed_at        TIMESTAMP,
    removed_by        TEXT,
    CHECK ((provider_id IS NULL) = (role = 'operator'))
);

CREATE UNIQUE INDEX users_by_email ON users (COALESCE(provider_id, 0), email) WHERE removed_at IS NULL;

-- Links that sign in once, by the digests of their secrets.
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

-- Sessions of browsers, by the digests of the secrets in their cookies.
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

-- Who did what in the settings, and by the commands for users and tokens. People are numbers here, never addresses.
CREATE TABLE activity_log (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    acted_at    TIMESTAMP NOT NULL,
    user_id     INTEGER REFERENCES users (id),
    acted_by    TEXT,          -- of a command: who ran it
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

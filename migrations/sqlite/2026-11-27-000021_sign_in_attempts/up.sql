-- Who is on the way to the issuer of OpenID Connect and back, by the digests of the state and of the browser's cookie. A row
-- goes when the answer comes.
CREATE TABLE sign_in_attempts (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    digest         TEXT NOT NULL UNIQUE,
    browser_digest TEXT NOT NULL,
    nonce          TEXT NOT NULL,
    code_verifier  TEXT NOT NULL,
    expires_at     TIMESTAMP NOT NULL
);

CREATE INDEX sign_in_attempts_by_expiry ON sign_in_attempts (expires_at);

-- Who has come back with access to more than one organisation, and has not said yet to which one they sign in. A row goes when
-- they say so.
CREATE TABLE sign_in_choices (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    digest         TEXT NOT NULL UNIQUE,
    browser_digest TEXT NOT NULL,
    issuer         TEXT NOT NULL,
    subject        TEXT NOT NULL,
    email          TEXT,          -- in lower case; null where the issuer has not verified one
    ukprns         TEXT NOT NULL, -- those of the claim, with commas between them
    role           TEXT NOT NULL CHECK (role IN ('admin', 'viewer')),
    is_operator    BOOLEAN NOT NULL,
    expires_at     TIMESTAMP NOT NULL
);

CREATE INDEX sign_in_choices_by_expiry ON sign_in_choices (expires_at);

-- An identity has one access to an organisation, or to the service.
CREATE UNIQUE INDEX users_by_identity ON users (issuer, subject, COALESCE(provider_id, 0))
    WHERE removed_at IS NULL;

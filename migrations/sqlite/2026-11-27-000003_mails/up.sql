-- Mails to send. A row names the recipient and the subject, and never contains a link: the server creates the link when it
-- sends the mail. A finished row is kept for an hour, to limit the mails to an address.
CREATE TABLE mails (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    kind          TEXT NOT NULL CHECK (kind IN ('sign_in', 'invitation', 'token_expiry')),
    email         TEXT,    -- the typed address in lower case, of the kind sign_in
    invitation_id INTEGER, -- of the kind invitation; the invitation may have been removed
    token_id      INTEGER REFERENCES tokens (id), -- of the kind token_expiry
    user_id       INTEGER REFERENCES users (id),  -- of the kind token_expiry
    request_id    TEXT,    -- the request that asked for a link
    address       TEXT,    -- the address of its client
    created_at    TIMESTAMP NOT NULL,
    due_at        TIMESTAMP NOT NULL, -- the time of the next attempt
    expires_at    TIMESTAMP NOT NULL, -- no attempt is made after this time
    attempts      INTEGER NOT NULL DEFAULT 0,
    finished_at   TIMESTAMP -- when the mail was sent, given up or found unnecessary
);

CREATE INDEX mails_by_due_time ON mails (due_at, id) WHERE finished_at IS NULL;
CREATE INDEX mails_by_email ON mails (email, id) WHERE email IS NOT NULL;
CREATE INDEX mails_by_finish ON mails (finished_at) WHERE finished_at IS NOT NULL;

-- The reminders that were queued before a token expires, so that each is sent once. The number 0 marks a replaced token,
-- which gets no reminders.
CREATE TABLE token_reminders (
    token_id  INTEGER NOT NULL REFERENCES tokens (id),
    days_left INTEGER NOT NULL,
    queued_at TIMESTAMP NOT NULL,
    PRIMARY KEY (token_id, days_left)
);

-- The accounts of a person in all organisations.
CREATE INDEX users_by_address ON users (email, provider_id) WHERE removed_at IS NULL;

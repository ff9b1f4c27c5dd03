-- Due mails are sent in turns of providers: the provider, or 0 for operators. Null for sign-in mails, which come first.
ALTER TABLE mails ADD COLUMN turn_of BIGINT;
UPDATE mails SET turn_of = coalesce((SELECT provider_id FROM invitations WHERE invitations.id = invitation_id), 0)
    WHERE kind = 'invitation';
UPDATE mails SET turn_of = (SELECT provider_id FROM tokens WHERE tokens.id = token_id) WHERE kind = 'token_expiry';
CREATE INDEX mails_by_turn ON mails (turn_of ASC, finished_at ASC) WHERE turn_of IS NOT NULL;

-- One request for a sign-in link waits for each address. A finished row is a mail that was sent.
DELETE FROM mails WHERE kind = 'sign_in' AND finished_at IS NULL
    AND id NOT IN (SELECT max(id) FROM mails WHERE kind = 'sign_in' AND finished_at IS NULL GROUP BY email);
CREATE UNIQUE INDEX mails_by_waiting_address ON mails (email ASC) WHERE email IS NOT NULL AND finished_at IS NULL;

-- Who ran the command that changed a trainee; null where a token or the server itself did, and in older entries.
ALTER TABLE changes ADD COLUMN changed_by TEXT;

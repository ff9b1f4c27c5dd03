-- When the work on an upload may go on after the rate limit of its user was used up.
ALTER TABLE uploads ADD COLUMN not_before TIMESTAMP;

DROP INDEX users_by_address;
DROP TABLE token_reminders;
DROP TABLE mails;

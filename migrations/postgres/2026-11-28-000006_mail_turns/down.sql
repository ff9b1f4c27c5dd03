DROP INDEX mails_by_waiting_address;
DROP INDEX mails_by_turn;
ALTER TABLE mails DROP COLUMN turn_of;

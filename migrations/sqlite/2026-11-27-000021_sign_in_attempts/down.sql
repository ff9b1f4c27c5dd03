DROP INDEX users_by_identity;
DROP TABLE sign_in_choices;
DROP TABLE sign_in_attempts;

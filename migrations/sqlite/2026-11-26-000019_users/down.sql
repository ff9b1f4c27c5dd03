DROP TABLE activity_log;
DROP TABLE sign_in_sessions;
DROP TABLE invitations;
DROP TABLE users;

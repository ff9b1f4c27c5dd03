DROP TABLE training_partners;
DROP TABLE schools;
DROP TABLE tokens;
DROP TABLE providers;

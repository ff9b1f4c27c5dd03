DROP TABLE degrees;
DROP TABLE placements;
DROP TABLE withdrawals;
DROP TABLE trainee_disabilities;
DROP TABLE trainees;

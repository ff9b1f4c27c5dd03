-- The history is already one table on SQLite.
SELECT 1;

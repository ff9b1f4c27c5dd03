DROP TABLE archived_months;

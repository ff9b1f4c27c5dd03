DROP TABLE shadow_problems;
DROP TABLE shadow_checks;
DROP TABLE usage_by_day;

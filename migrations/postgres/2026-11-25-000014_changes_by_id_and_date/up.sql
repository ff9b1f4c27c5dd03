CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS changes_by_id_and_date ON changes (id, changed_at);

CREATE INDEX CONCURRENTLY IF NOT EXISTS trainees_by_position ON trainees (provider_id, changed_in, id);

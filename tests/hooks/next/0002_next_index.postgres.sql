-- Built while nodes store events; one that was not finished is dropped first.
DROP INDEX CONCURRENTLY IF EXISTS next_events;
CREATE INDEX CONCURRENTLY next_events ON events (tenant_id, next_note) WHERE next_note IS NOT NULL;

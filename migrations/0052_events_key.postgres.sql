-- Events by ids that are UUIDs, which take half of what the same ids take as text. The index is built while
-- nodes store events; one that was not finished is dropped first.

DROP INDEX CONCURRENTLY IF EXISTS events_key;
CREATE UNIQUE INDEX CONCURRENTLY events_key ON events (tenant_id, event_key)
    WHERE event_key IS NOT NULL;

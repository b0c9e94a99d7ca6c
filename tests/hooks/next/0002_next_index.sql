CREATE INDEX next_events ON events (tenant_id, next_note) WHERE next_note IS NOT NULL;

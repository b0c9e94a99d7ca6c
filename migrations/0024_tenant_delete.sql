-- A tenant that is being deleted: its rows are erased a little at a time, its own row last. Its slug
-- is replaced at once, so that another tenant may have it.

ALTER TABLE tenants ADD COLUMN deleted_at INTEGER; -- NULL: it is there

-- Numbers of tenants and agents are not used again when the last ones are erased.
INSERT INTO change_numbers (topic, number) VALUES ('tenant_id', 0), ('agent_id', 0);

-- Deleting an agent looks for rows that refer to it: without these it would read whole tables.
CREATE INDEX runs_reference ON runs (agent_id);
CREATE INDEX business_runs_reference ON business_runs (agent_id);
CREATE INDEX kpis_reference ON kpis (agent_id);

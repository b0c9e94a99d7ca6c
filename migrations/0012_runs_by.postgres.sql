-- Runs by agent and by workflow, and agents in the order of their names' bytes, as SQLite has it.
-- A run without events has no start, and is in none of them.

CREATE INDEX runs_agent ON runs (tenant_id, agent_id, start_at, run_id)
    WHERE start_at IS NOT NULL;
CREATE INDEX runs_workflow ON runs (tenant_id, workflow_run_id, start_at, run_id)
    WHERE workflow_run_id IS NOT NULL AND start_at IS NOT NULL;
CREATE INDEX agents_order ON agents (tenant_id, agent_name COLLATE "C");

-- Runs by agent and by workflow.

CREATE INDEX runs_agent ON runs (tenant_id, agent_id, start_at, run_id);
CREATE INDEX runs_workflow ON runs (tenant_id, workflow_run_id, start_at, run_id)
    WHERE workflow_run_id IS NOT NULL;

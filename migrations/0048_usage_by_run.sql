-- What a page of runs spent is read by the ids of its runs: of a long time, the reports of other runs
-- are many.

CREATE INDEX llm_usage_run ON llm_usage (tenant_id, run_id);

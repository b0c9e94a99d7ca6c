-- What a page of runs spent is read by the ids of its runs: of a long time, the reports of other runs
-- are many. The index is built while nodes store reports; one that was not finished is dropped first.

DROP INDEX CONCURRENTLY IF EXISTS llm_usage_run;
CREATE INDEX CONCURRENTLY llm_usage_run ON llm_usage (tenant_id, run_id);

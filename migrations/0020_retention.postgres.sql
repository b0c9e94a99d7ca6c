-- How long a tenant's data is kept. Times are microseconds since 1970, UTC.
-- tenant_id leads every key and unique index, so that Citus can distribute the tables by it.

CREATE TABLE retention (
    tenant_id        BIGINT PRIMARY KEY,
    events_days      BIGINT,          -- NULL: for ever, as the two below
    business_days    BIGINT,
    llm_days         BIGINT,
    keep_failed_runs BIGINT NOT NULL, -- of each agent, whatever their age
    updated_at       BIGINT NOT NULL,
    business_until   BIGINT,          -- reports before this may have been deleted; NULL: none was
    llm_until        BIGINT
);

-- Runs that are deleted and still have events here. Those go a little at a time.
CREATE TABLE gone_runs (
    tenant_id BIGINT NOT NULL,
    run_no    BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, run_no)
);

CREATE INDEX business_runs_time ON business_runs (tenant_id, timestamp);

-- The failed ones (closing_event) of an agent, by start.
CREATE INDEX runs_failed ON runs (tenant_id, agent_id, start_at, run_id) WHERE closing_event = 2;

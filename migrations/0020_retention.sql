-- How long a tenant's data is kept. Times are microseconds since 1970, UTC.

CREATE TABLE retention (
    tenant_id        INTEGER PRIMARY KEY,
    events_days      INTEGER,          -- NULL: for ever, as the two below
    business_days    INTEGER,
    llm_days         INTEGER,
    keep_failed_runs INTEGER NOT NULL, -- of each agent, whatever their age
    updated_at       INTEGER NOT NULL,
    business_until   INTEGER,          -- reports before this may have been deleted; NULL: none was
    llm_until        INTEGER
) STRICT;

-- Runs that are deleted and still have events here. Those go a little at a time.
CREATE TABLE gone_runs (
    tenant_id INTEGER NOT NULL,
    run_no    INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, run_no)
) STRICT, WITHOUT ROWID;

CREATE INDEX business_runs_time ON business_runs (tenant_id, timestamp);

-- The failed ones (closing_event) of an agent, by start.
CREATE INDEX runs_failed ON runs (tenant_id, agent_id, start_at, run_id) WHERE closing_event = 2;

-- Numbers of events and runs are not used again when the last ones are deleted: no greater one was
-- ever given than this, or than those that are there.
INSERT INTO change_numbers (topic, number) VALUES ('event_no', 0), ('run_no', 0);

-- What a tenant wants to be alerted of. Times are microseconds since 1970, UTC.

CREATE TABLE alert_rules (
    tenant_id  BIGINT   PRIMARY KEY,
    run_failed SMALLINT NOT NULL,
    run_stuck  SMALLINT NOT NULL,
    bounds     BIGINT   NOT NULL, -- how many KPIs and budgets are watched
    version    BIGINT   NOT NULL, -- grows each time they are set
    updated_at BIGINT   NOT NULL,
    rules      TEXT     NOT NULL  -- all of them: the JSON object that was set
);

-- A failed run is told of once, whatever becomes of it later.
CREATE UNIQUE INDEX alerts_failed ON alerts (tenant_id, subject) WHERE type = 'run.failed';

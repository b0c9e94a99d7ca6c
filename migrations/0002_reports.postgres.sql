-- Business KPIs and LLM usage. Times are microseconds since 1970, UTC.
-- tenant_id leads every key and unique index, so that Citus can distribute the tables by it.
-- A name that may be longer than an index entry (a KPI's key, a set of dimensions) stands in its
-- column shortened (store/names.h), with the whole of it in full_…, which is NULL otherwise.

CREATE TABLE kpis ( -- as declared at registration
    tenant_id BIGINT NOT NULL,
    agent_id  BIGINT NOT NULL,
    key       TEXT   NOT NULL,
    full_key  TEXT,
    label     TEXT   NOT NULL,
    unit      TEXT   NOT NULL,
    agg       TEXT   NOT NULL,
    PRIMARY KEY (tenant_id, agent_id, key),
    FOREIGN KEY (tenant_id, agent_id) REFERENCES agents
);

-- What an agent reported of one run. It is not table runs, which knows only runs that have events.
CREATE TABLE business_runs (
    tenant_id       BIGINT NOT NULL,
    run_no          BIGINT GENERATED ALWAYS AS IDENTITY,
    agent_id        BIGINT NOT NULL,
    run_id          TEXT   NOT NULL,
    timestamp       BIGINT NOT NULL, -- of the newest report, as the two below
    agent_version   TEXT   NOT NULL,
    workflow_run_id TEXT,
    PRIMARY KEY (tenant_id, run_no),
    FOREIGN KEY (tenant_id, agent_id) REFERENCES agents
);

CREATE UNIQUE INDEX business_runs_id ON business_runs (tenant_id, run_id, agent_id);

CREATE TABLE business_values (
    tenant_id     BIGINT NOT NULL,
    run_no        BIGINT NOT NULL,
    key           TEXT   NOT NULL,
    full_key      TEXT,
    agent_id      BIGINT NOT NULL,
    timestamp     BIGINT NOT NULL, -- of the report that gave the value
    received_at   BIGINT NOT NULL,
    integer_value BIGINT,          -- one of the three
    real_value    DOUBLE PRECISION,
    text_value    TEXT,
    PRIMARY KEY (tenant_id, run_no, key)
);

CREATE INDEX business_values_time ON business_values (tenant_id, key, timestamp);

-- One row a breakdown, not one a cell: a report may bring 100,000 cells, which are replaced as a
-- whole and read as a whole. `cells` is [[value of each dimension…, number],…].
CREATE TABLE business_breakdowns (
    tenant_id       BIGINT NOT NULL,
    run_no          BIGINT NOT NULL,
    metric          TEXT   NOT NULL,
    dimensions      TEXT   NOT NULL, -- a JSON array of the names, sorted by bytes
    full_dimensions TEXT,
    agent_id        BIGINT NOT NULL,
    timestamp       BIGINT NOT NULL,
    received_at     BIGINT NOT NULL,
    cells           TEXT   NOT NULL,
    PRIMARY KEY (tenant_id, run_no, metric, dimensions)
);

CREATE INDEX business_breakdowns_time ON business_breakdowns (tenant_id, metric, timestamp);

-- The key is the identity of a usage, in the order in which usage comes and is read: by time.
CREATE TABLE llm_usage (
    tenant_id          BIGINT NOT NULL,
    timestamp          BIGINT NOT NULL,
    agent_id           BIGINT NOT NULL,
    run_id             TEXT   NOT NULL,
    model              TEXT   NOT NULL,
    received_at        BIGINT NOT NULL,
    input_tokens       BIGINT NOT NULL,
    output_tokens      BIGINT NOT NULL,
    cache_read_tokens  BIGINT NOT NULL,
    cache_write_tokens BIGINT NOT NULL,
    calls              BIGINT NOT NULL,
    agent_version      TEXT   NOT NULL,
    workflow_run_id    TEXT,
    PRIMARY KEY (tenant_id, timestamp, agent_id, run_id, model)
);

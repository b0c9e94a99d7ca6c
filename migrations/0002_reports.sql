-- Business KPIs and LLM usage. Times are microseconds since 1970, UTC.
-- A name that may be longer than an index entry (a KPI's key, a set of dimensions) stands in its
-- column shortened (store/names.h), with the whole of it in full_…, which is NULL otherwise.

CREATE TABLE kpis ( -- as declared at registration
    tenant_id INTEGER NOT NULL,
    agent_id  INTEGER NOT NULL REFERENCES agents,
    key       TEXT    NOT NULL,
    full_key  TEXT,
    label     TEXT    NOT NULL,
    unit      TEXT    NOT NULL,
    agg       TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, agent_id, key)
) STRICT, WITHOUT ROWID;

-- What an agent reported of one run. run_no grows with arrival, so that the values of a run lie
-- together; it is not that of table runs, which knows only runs that have events.
CREATE TABLE business_runs (
    run_no          INTEGER PRIMARY KEY,
    tenant_id       INTEGER NOT NULL,
    agent_id        INTEGER NOT NULL REFERENCES agents,
    run_id          TEXT    NOT NULL,
    timestamp       INTEGER NOT NULL, -- of the newest report, as the two below
    agent_version   TEXT    NOT NULL,
    workflow_run_id TEXT
) STRICT;

CREATE UNIQUE INDEX business_runs_id ON business_runs (tenant_id, run_id, agent_id);

CREATE TABLE business_values (
    tenant_id     INTEGER NOT NULL,
    run_no        INTEGER NOT NULL,
    key           TEXT    NOT NULL,
    full_key      TEXT,
    agent_id      INTEGER NOT NULL,
    timestamp     INTEGER NOT NULL, -- of the report that gave the value
    received_at   INTEGER NOT NULL,
    integer_value INTEGER,          -- one of the three
    real_value    REAL,
    text_value    TEXT,
    PRIMARY KEY (tenant_id, run_no, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX business_values_time ON business_values (tenant_id, key, timestamp);

-- One row a breakdown, not one a cell: a report may bring 100,000 cells, which are replaced as a
-- whole and read as a whole. `cells` is [[value of each dimension…, number],…].
CREATE TABLE business_breakdowns (
    breakdown_no    INTEGER PRIMARY KEY, -- not clustered by its key: rows are long
    tenant_id       INTEGER NOT NULL,
    run_no          INTEGER NOT NULL,
    metric          TEXT    NOT NULL,
    dimensions      TEXT    NOT NULL, -- a JSON array of the names, sorted by bytes
    full_dimensions TEXT,
    agent_id        INTEGER NOT NULL,
    timestamp       INTEGER NOT NULL,
    received_at     INTEGER NOT NULL,
    cells           TEXT    NOT NULL
) STRICT;

CREATE UNIQUE INDEX business_breakdowns_id
    ON business_breakdowns (tenant_id, run_no, metric, dimensions);
CREATE INDEX business_breakdowns_time ON business_breakdowns (tenant_id, metric, timestamp);

-- The key is the identity of a usage, in the order in which usage comes and is read: by time.
CREATE TABLE llm_usage (
    tenant_id          INTEGER NOT NULL,
    timestamp          INTEGER NOT NULL,
    agent_id           INTEGER NOT NULL,
    run_id             TEXT    NOT NULL,
    model              TEXT    NOT NULL,
    received_at        INTEGER NOT NULL,
    input_tokens       INTEGER NOT NULL,
    output_tokens      INTEGER NOT NULL,
    cache_read_tokens  INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    calls              INTEGER NOT NULL,
    agent_version      TEXT    NOT NULL,
    workflow_run_id    TEXT,
    PRIMARY KEY (tenant_id, timestamp, agent_id, run_id, model)
) STRICT, WITHOUT ROWID;

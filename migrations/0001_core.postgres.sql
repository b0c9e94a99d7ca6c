-- Tenants, keys, agents, runs and their events. Times are microseconds since 1970, UTC.
-- tenant_id leads every key and unique index, so that Citus can distribute the tables by it.

CREATE TABLE tenants (
    tenant_id  BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    slug       TEXT   NOT NULL UNIQUE,
    name       TEXT   NOT NULL,
    max_agents BIGINT NOT NULL,
    rate_limit BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE keys (
    tenant_id    BIGINT NOT NULL REFERENCES tenants,
    key_id       TEXT   NOT NULL,
    digest       BYTEA  NOT NULL, -- SHA-256 of the token, which is stored nowhere
    agent_name   TEXT,            -- NULL: a workspace key
    label        TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    last_used_at BIGINT,
    expires_at   BIGINT,
    revoked_at   BIGINT,
    PRIMARY KEY (tenant_id, key_id)
);

CREATE UNIQUE INDEX keys_digest ON keys (tenant_id, digest);

CREATE TABLE agents (
    tenant_id     BIGINT   NOT NULL REFERENCES tenants,
    agent_id      BIGINT   GENERATED ALWAYS AS IDENTITY,
    agent_name    TEXT     NOT NULL,
    enabled       SMALLINT NOT NULL,
    first_seen_at BIGINT   NOT NULL,
    PRIMARY KEY (tenant_id, agent_id)
);

CREATE UNIQUE INDEX agents_name ON agents (tenant_id, agent_name);

-- A run's state is derived from its events (src/store/run_state.h). A run is made just before its
-- first events; until they are stored it has none.
CREATE TABLE runs (
    tenant_id         BIGINT   NOT NULL,
    run_no            BIGINT   GENERATED ALWAYS AS IDENTITY,
    run_id            TEXT     NOT NULL,
    agent_id          BIGINT   NOT NULL, -- of the first event stored
    event_count       BIGINT   NOT NULL DEFAULT 0,
    start_at          BIGINT,            -- started_at, else first_at: what runs are listed by
    first_at          BIGINT,
    last_at           BIGINT,
    started_at        BIGINT,
    workflow_run_id   TEXT,
    closing_at        BIGINT,            -- the latest closing event, and what it says
    closing_seq       BIGINT,
    closing_event     SMALLINT,
    duration_ms       BIGINT,
    records_processed BIGINT,
    error_type        TEXT,
    error_message     TEXT,
    closing_message   TEXT,
    step_at           BIGINT,            -- the latest step
    step_seq          BIGINT,
    step_message      TEXT,
    version_at        BIGINT,            -- the latest event with an agent_version
    version_seq       BIGINT,
    agent_version     TEXT,
    PRIMARY KEY (tenant_id, run_no),
    FOREIGN KEY (tenant_id, agent_id) REFERENCES agents
);

CREATE INDEX runs_start ON runs (tenant_id, start_at, run_id);
CREATE UNIQUE INDEX runs_id ON runs (tenant_id, run_id);

CREATE TABLE events (
    tenant_id         BIGINT   NOT NULL,
    event_no          BIGINT   GENERATED ALWAYS AS IDENTITY,
    run_no            BIGINT   NOT NULL,
    agent_id          BIGINT   NOT NULL,
    event_id          TEXT     NOT NULL,
    event             SMALLINT NOT NULL, -- enum run_event
    timestamp         BIGINT   NOT NULL,
    received_at       BIGINT   NOT NULL,
    seq               BIGINT   NOT NULL,
    agent_version     TEXT     NOT NULL,
    duration_ms       BIGINT,
    records_processed BIGINT,
    error_type        TEXT,
    error_message     TEXT,
    workflow_run_id   TEXT,
    message           TEXT     NOT NULL,
    level             TEXT     NOT NULL,
    category          TEXT     NOT NULL,
    source            TEXT     NOT NULL,
    metadata          TEXT,              -- JSON, as the three below; NULL: empty
    metrics           TEXT,
    links             TEXT,
    output            TEXT,
    PRIMARY KEY (tenant_id, event_no)
);

CREATE INDEX events_run ON events (tenant_id, run_no);
CREATE UNIQUE INDEX events_id ON events (tenant_id, event_id) WHERE event_id <> '';

-- What a process keeps in memory carries a number; whoever changes it adds one.
CREATE TABLE change_numbers (
    topic  TEXT PRIMARY KEY,
    number BIGINT NOT NULL
);

INSERT INTO change_numbers (topic, number) VALUES ('registry', 1);

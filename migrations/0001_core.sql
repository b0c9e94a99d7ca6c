-- Tenants, keys, agents, runs and their events. Times are microseconds since 1970, UTC.
-- event_no and run_no grow with arrival, so that what is written together lies together.

CREATE TABLE tenants (
    tenant_id  INTEGER PRIMARY KEY,
    slug       TEXT    NOT NULL UNIQUE,
    name       TEXT    NOT NULL,
    max_agents INTEGER NOT NULL,
    rate_limit INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE keys (
    tenant_id    INTEGER NOT NULL REFERENCES tenants,
    key_id       TEXT    NOT NULL,
    digest       BLOB    NOT NULL, -- SHA-256 of the token, which is stored nowhere
    agent_name   TEXT,             -- NULL: a workspace key
    label        TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER,
    expires_at   INTEGER,
    revoked_at   INTEGER,
    PRIMARY KEY (tenant_id, key_id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX keys_digest ON keys (tenant_id, digest);

CREATE TABLE agents (
    agent_id      INTEGER PRIMARY KEY,
    tenant_id     INTEGER NOT NULL REFERENCES tenants,
    agent_name    TEXT    NOT NULL,
    enabled       INTEGER NOT NULL,
    first_seen_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX agents_name ON agents (tenant_id, agent_name);

-- A run's state is derived from its events (src/store/run_state.h). run_id has no index of its own:
-- ids are random, and go through the tables below.
CREATE TABLE runs (
    run_no            INTEGER PRIMARY KEY,
    tenant_id         INTEGER NOT NULL REFERENCES tenants,
    run_id            TEXT    NOT NULL,
    agent_id          INTEGER NOT NULL REFERENCES agents, -- of the first event stored
    event_count       INTEGER NOT NULL,
    start_at          INTEGER NOT NULL, -- started_at, else first_at: what runs are listed by
    first_at          INTEGER NOT NULL,
    last_at           INTEGER NOT NULL,
    started_at        INTEGER,
    workflow_run_id   TEXT,
    closing_at        INTEGER,          -- the latest closing event, and what it says
    closing_seq       INTEGER NOT NULL,
    closing_event     INTEGER NOT NULL,
    duration_ms       INTEGER,
    records_processed INTEGER,
    error_type        TEXT,
    error_message     TEXT,
    closing_message   TEXT    NOT NULL,
    step_at           INTEGER,          -- the latest step
    step_seq          INTEGER NOT NULL,
    step_message      TEXT    NOT NULL,
    version_at        INTEGER,          -- the latest event with an agent_version
    version_seq       INTEGER NOT NULL,
    agent_version     TEXT    NOT NULL
) STRICT;

CREATE INDEX runs_start ON runs (tenant_id, start_at, run_id);

CREATE TABLE events (
    event_no          INTEGER PRIMARY KEY,
    tenant_id         INTEGER NOT NULL,
    run_no            INTEGER NOT NULL,
    agent_id          INTEGER NOT NULL,
    event_id          TEXT    NOT NULL,
    event             INTEGER NOT NULL, -- enum run_event
    timestamp         INTEGER NOT NULL,
    received_at       INTEGER NOT NULL,
    seq               INTEGER NOT NULL,
    agent_version     TEXT    NOT NULL,
    duration_ms       INTEGER,
    records_processed INTEGER,
    error_type        TEXT,
    error_message     TEXT,
    workflow_run_id   TEXT,
    message           TEXT    NOT NULL,
    level             TEXT    NOT NULL,
    category          TEXT    NOT NULL,
    source            TEXT    NOT NULL,
    metadata          TEXT,             -- JSON, as the three below; NULL: empty
    metrics           TEXT,
    links             TEXT,
    output            TEXT
) STRICT;

-- Which events are of a run: n of them from first_event_no on.
CREATE TABLE run_extents (
    run_no         INTEGER NOT NULL,
    first_event_no INTEGER NOT NULL,
    n              INTEGER NOT NULL,
    PRIMARY KEY (run_no, first_event_no)
) STRICT, WITHOUT ROWID;

-- The index of event and run ids (src/store/ids.h): the newest as a row for each transaction, the
-- others in sorted segments whose entries lie in chunks.
CREATE TABLE id_secret (
    secret BLOB NOT NULL
) STRICT;

CREATE TABLE id_log (
    group_no INTEGER PRIMARY KEY,
    entries  BLOB NOT NULL
) STRICT;

CREATE TABLE id_segments (
    segment_no INTEGER PRIMARY KEY,
    tier       INTEGER NOT NULL,
    state      INTEGER NOT NULL,
    n          INTEGER NOT NULL,
    fences     BLOB    NOT NULL,
    filter     BLOB    NOT NULL
) STRICT;

CREATE TABLE id_chunks (
    chunk_no INTEGER PRIMARY KEY,
    entries  BLOB NOT NULL
) STRICT;

-- What a process keeps in memory carries a number; whoever changes it adds one.
CREATE TABLE change_numbers (
    topic  TEXT PRIMARY KEY,
    number INTEGER NOT NULL
) STRICT;

INSERT INTO change_numbers (topic, number) VALUES ('registry', 1);

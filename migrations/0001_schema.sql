-- The schema of 1.0 for SQLite; 0001_schema.postgres.sql is its sibling.
-- Times are microseconds since 1970, UTC. tenant_id 0 is the platform.
-- A name that may be longer than an index entry (an agent's, a KPI's, a parameter's) is shortened in its
-- column (db/name_key.h); full_… then has all of it and is NULL otherwise.
-- Numbers (event_no, run_no, …) grow with arrival, so that rows written together lie together.


-- access: tenants, keys, rate limits
-- ----------------------------------

-- What a process keeps in memory has a number; each change adds one.
CREATE TABLE change_numbers (
    topic        TEXT    PRIMARY KEY,
    number       INTEGER NOT NULL
) STRICT;

-- What each of the last registry changes was about, in the slot of its number: an agent that was enabled,
-- disabled or deleted, or 0. A process that has loaded up to a number looks up the agents of those that
-- follow, and all agents when one is missing.
CREATE TABLE registry_changes (
    slot         INTEGER NOT NULL PRIMARY KEY,
    number       INTEGER NOT NULL,
    about_tenant INTEGER NOT NULL,
    about_agent  INTEGER NOT NULL
) STRICT;

-- A deleted tenant's rows are erased step by step, its own row last; its slug is free at once.
CREATE TABLE tenants (
    tenant_id  INTEGER PRIMARY KEY,
    slug       TEXT    NOT NULL UNIQUE,
    name       TEXT    NOT NULL,
    max_agents INTEGER NOT NULL,
    rate_limit INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    changed    INTEGER NOT NULL DEFAULT 0, -- the registry's number of the last change
    deleted_at INTEGER,                    -- NULL: not deleted
    agents     INTEGER NOT NULL DEFAULT 0, -- how many it has
    max_bytes  INTEGER NOT NULL DEFAULT 0  -- 0: no quota
) STRICT;
CREATE INDEX tenants_changed ON tenants (changed);

-- How many bytes a tenant has stored: a row per writer that adds to it.
CREATE TABLE tenant_bytes (
    tenant_id INTEGER NOT NULL,
    part      INTEGER NOT NULL,
    bytes     INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, part)
) STRICT, WITHOUT ROWID;

-- All keys made from one another by rotation are a line, named after its first key.
CREATE TABLE keys (
    tenant_id     INTEGER NOT NULL REFERENCES tenants,
    key_id        TEXT    NOT NULL,
    digest        BLOB    NOT NULL,           -- SHA-256 of the token, which is stored nowhere
    agent_name    TEXT,                       -- NULL: a workspace key
    label         TEXT    NOT NULL,
    created_at    INTEGER NOT NULL,
    last_used_at  INTEGER,
    expires_at    INTEGER,
    revoked_at    INTEGER,
    predecessor   TEXT,                       -- the key_id that it replaces; NULL: created by a person
    rotated_at    INTEGER,                    -- the first time
    first_used_at INTEGER,                    -- of a successor
    changed       INTEGER NOT NULL DEFAULT 0, -- the registry's number of the last change
    line          TEXT,                       -- NULL: its own key_id
    read_only     INTEGER NOT NULL DEFAULT 0, -- 1: never bound to an agent
    PRIMARY KEY (tenant_id, key_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX keys_digest ON keys (tenant_id, digest);
CREATE INDEX keys_predecessor ON keys (tenant_id, predecessor);
CREATE INDEX keys_changed ON keys (changed);
CREATE INDEX keys_line ON keys (tenant_id, line, created_at);
CREATE INDEX keys_created ON keys (tenant_id, created_at, key_id);
-- What a tenant's keys are counted by.
CREATE INDEX keys_in_use ON keys (tenant_id) WHERE revoked_at IS NULL AND rotated_at IS NULL;
-- A node that starts loads the keys in use in this order, and the recently rotated ones.
CREATE INDEX keys_walked
    ON keys (tenant_id, key_id)
    WHERE revoked_at IS NULL AND rotated_at IS NULL;
CREATE INDEX keys_rotated ON keys (rotated_at) WHERE revoked_at IS NULL AND rotated_at IS NOT NULL;
CREATE INDEX keys_by_digest ON keys (digest);

-- What each process let through of each rate limit.
CREATE TABLE rate_windows (
    name     TEXT    NOT NULL, -- of the window: a digest of whose it is
    node     TEXT    NOT NULL, -- the process that counted; it alone changes the row
    at       INTEGER NOT NULL, -- a second of the wall clock, when it was stored
    n        INTEGER NOT NULL, -- requests let through
    PRIMARY KEY (name, node, at)
) STRICT, WITHOUT ROWID;

-- Processes that run.
CREATE TABLE nodes (
    node    TEXT    NOT NULL PRIMARY KEY,
    seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

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


-- access: users and their sign-in, which belong to the platform
-- -------------------------------------------------------------

CREATE TABLE users (
    user_id       TEXT    PRIMARY KEY,        -- user_…: public
    email         TEXT    NOT NULL UNIQUE,    -- trimmed, in small letters
    password      TEXT    NOT NULL,           -- argon2id with its parameters and salt
    platform_role INTEGER NOT NULL,           -- enum platform_role
    created_at    INTEGER NOT NULL,
    last_login_at INTEGER,
    confirmed     INTEGER NOT NULL DEFAULT 0, -- 1: the account belongs to the owner of its address
    made_in       INTEGER NOT NULL DEFAULT 0  -- the tenant whose admin created it; 0: none
) STRICT, WITHOUT ROWID;

CREATE TABLE user_roles (
    tenant_id INTEGER NOT NULL REFERENCES tenants,
    user_id   TEXT    NOT NULL,
    role      INTEGER NOT NULL, -- enum tenant_role
    PRIMARY KEY (tenant_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX user_roles_user ON user_roles (user_id, tenant_id);

-- Which user each of the last changes of users, roles and sessions was about, in the slot of its number:
-- NULL: unknown, '': several. Read as registry_changes.
CREATE TABLE user_changes (
    slot   INTEGER NOT NULL PRIMARY KEY,
    number INTEGER NOT NULL,
    about  TEXT
) STRICT;

CREATE TABLE sessions (
    digest       BLOB    PRIMARY KEY,         -- SHA-256 of the cookie, which is stored nowhere
    user_id      TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,            -- up to a minute late
    address      TEXT    NOT NULL DEFAULT '', -- where it was opened
    user_agent   TEXT    NOT NULL DEFAULT '',
    voucher      TEXT    NOT NULL DEFAULT ''  -- of an identity provider: the ID token, to sign out there
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_user ON sessions (user_id, created_at);

-- Tokens with which users reach the API without a browser.
CREATE TABLE personal_tokens (
    token_id   TEXT    PRIMARY KEY,     -- pat_…: public
    digest     BLOB    NOT NULL UNIQUE, -- SHA-256 of the token, which is stored nowhere
    user_id    TEXT    NOT NULL,
    name       TEXT    NOT NULL,        -- what it is for
    role       INTEGER NOT NULL,        -- enum token_role: what the user may do with it at most
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX personal_tokens_user ON personal_tokens (user_id, created_at);

-- Links by which a person chooses a password: invitations and resets. Used and revoked ones stay for a
-- while, to say so to those who open them.
CREATE TABLE user_links (
    link_id       TEXT    PRIMARY KEY,     -- lnk_…: public
    digest        BLOB    NOT NULL UNIQUE, -- SHA-256 of the link's token, which is stored nowhere
    kind          INTEGER NOT NULL,        -- enum link_kind
    state         INTEGER NOT NULL,        -- enum link_state
    tenant_id     INTEGER NOT NULL,        -- the tenant that invites; 0: the platform
    email         TEXT    NOT NULL,
    platform_role INTEGER NOT NULL,
    made_by       TEXT    NOT NULL,        -- e-mail address, or operator
    created_at    INTEGER NOT NULL,
    expires_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX user_links_tenant ON user_links (tenant_id, created_at);
CREATE INDEX user_links_email ON user_links (email);
CREATE INDEX user_links_created ON user_links (created_at);

-- The roles that an invitation gives.
CREATE TABLE user_link_roles (
    tenant_id INTEGER NOT NULL,
    link_id   TEXT    NOT NULL,
    role      INTEGER NOT NULL, -- enum tenant_role
    PRIMARY KEY (tenant_id, link_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX user_link_roles_link ON user_link_roles (link_id);

CREATE TABLE sign_in_failures (
    about     BLOB    NOT NULL, -- a digest of an account, an address, or both
    attempt   TEXT    NOT NULL,
    failed_at INTEGER NOT NULL,
    PRIMARY KEY (about, attempt)
) STRICT, WITHOUT ROWID;
CREATE INDEX sign_in_failures_at ON sign_in_failures (failed_at);

-- Second factors, and codes for when the app is lost.
CREATE TABLE user_factors (
    user_id      TEXT    PRIMARY KEY,
    sealed       BLOB    NOT NULL, -- the key, sealed by the vault
    active       INTEGER NOT NULL, -- 0: not confirmed by a code yet
    used_step    INTEGER NOT NULL, -- of the last code that was used: none before it is accepted
    created_at   INTEGER NOT NULL,
    confirmed_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE recovery_codes (
    user_id TEXT NOT NULL,
    digest  BLOB NOT NULL, -- keyed by the vault; the code is stored nowhere
    PRIMARY KEY (user_id, digest)
) STRICT, WITHOUT ROWID;

-- Who a person at an identity provider is here, and which roles the provider's groups have.
CREATE TABLE user_identities (
    issuer        TEXT    NOT NULL,
    subject       TEXT    NOT NULL,
    user_id       TEXT    NOT NULL,
    created_at    INTEGER NOT NULL,
    last_login_at INTEGER,
    PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX user_identities_user ON user_identities (user_id);

CREATE TABLE oidc_groups (
    tenant_id  INTEGER NOT NULL, -- 0: the platform
    group_name TEXT    NOT NULL,
    group_id   TEXT    NOT NULL,
    role       INTEGER NOT NULL, -- in the tenant; of the platform: always platform_admin
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, group_name)
) STRICT, WITHOUT ROWID;


-- vault: data keys wrapped by the master key, which is not in the database, and what they seal
-- --------------------------------------------------------------------------------------------

CREATE TABLE data_keys (
    tenant_id  INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    wrapped    BLOB    NOT NULL, -- nonce, ciphertext, tag
    created_at INTEGER NOT NULL,
    retired_at INTEGER,          -- nothing is sealed with it since then; destroyed seconds later
    PRIMARY KEY (tenant_id, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE secrets (
    tenant_id  INTEGER NOT NULL,
    name       TEXT    NOT NULL,
    shared     INTEGER NOT NULL, -- may workspace-wide values refer to it
    version    INTEGER NOT NULL,
    sealed     BLOB    NOT NULL, -- bound to tenant, name and version
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, name)
) STRICT;


-- audit: a chain of rows per tenant and one of the platform
-- ---------------------------------------------------------

-- Each row's hash covers the row and the hash before it.
CREATE TABLE audit_log (
    tenant_id INTEGER NOT NULL,
    seq       INTEGER NOT NULL, -- 1, 2, 3 … without a gap
    at        INTEGER NOT NULL,
    actor     TEXT    NOT NULL,
    action    TEXT    NOT NULL,
    target    TEXT    NOT NULL,
    origin    TEXT    NOT NULL,
    detail    TEXT,             -- a JSON object
    hash      BLOB    NOT NULL,
    PRIMARY KEY (tenant_id, seq)
) STRICT;

-- Where a chain ends, and up to where it is signed with a key that is not in the database.
CREATE TABLE audit_heads (
    tenant_id        INTEGER PRIMARY KEY,
    seq              INTEGER NOT NULL,
    hash             BLOB    NOT NULL,
    signed_seq       INTEGER NOT NULL DEFAULT 0,
    signed_hash      BLOB,
    unsigned_entries INTEGER NOT NULL DEFAULT 0, -- written without the key and signed later
    signature        BLOB
) STRICT;


-- agents
-- ------

-- A deleted agent's reports stay readable under its name.
CREATE TABLE agents (
    agent_id           INTEGER PRIMARY KEY,
    tenant_id          INTEGER NOT NULL REFERENCES tenants,
    agent_name         TEXT    NOT NULL,
    enabled            INTEGER NOT NULL,
    first_seen_at      INTEGER NOT NULL,
    full_name          TEXT,
    registered_version TEXT    NOT NULL DEFAULT '',
    description        TEXT    NOT NULL DEFAULT '',
    telemetry_doc      TEXT    NOT NULL DEFAULT '',
    interval_seconds   INTEGER,
    inputs             TEXT,    -- JSON, as the two below; NULL: none
    outputs            TEXT,
    config_schema      TEXT,
    registered_at      INTEGER, -- the last time; NULL: never
    deleted_at         INTEGER, -- NULL: not deleted
    muted_until        INTEGER  -- NULL: not muted
) STRICT;
CREATE UNIQUE INDEX agents_name ON agents (tenant_id, agent_name);

-- How many agents a tenant has, on Citus: there a tenant's row is on all servers, this one on the tenant's
-- alone (features/agents/agents_store.c). Otherwise empty: tenants.agents counts them.
CREATE TABLE agent_counts (
    tenant_id INTEGER NOT NULL PRIMARY KEY,
    agents    INTEGER NOT NULL
) STRICT;

-- Apart from agents, whose rows may be long: these are written every few seconds.
CREATE TABLE agent_signs (
    tenant_id    INTEGER NOT NULL,
    agent_id     INTEGER NOT NULL,
    last_seen_at INTEGER, -- NULL: never
    PRIMARY KEY (tenant_id, agent_id)
) STRICT, WITHOUT ROWID;

-- Processes that said they are alive, by the name they gave themselves.
CREATE TABLE heartbeats (
    tenant_id INTEGER NOT NULL,
    client_id TEXT    NOT NULL,
    first_at  INTEGER NOT NULL,
    last_at   INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, client_id)
) STRICT, WITHOUT ROWID;

-- Who may see and edit a parameter: a row is added when its key first appears in a registration.
CREATE TABLE security_catalog (
    tenant_id  INTEGER NOT NULL,
    key        TEXT    NOT NULL,
    full_key   TEXT,
    secret     INTEGER NOT NULL,
    edit       TEXT    NOT NULL, -- admin, member
    see        TEXT    NOT NULL, -- admin, member, nobody
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, key)
) STRICT, WITHOUT ROWID;

-- Scope 1: of a workspace (no agent), 2: of an agent, which may be unknown.
CREATE TABLE config_values (
    tenant_id  INTEGER NOT NULL,
    scope      INTEGER NOT NULL,
    agent_name TEXT    NOT NULL,
    full_name  TEXT,
    key        TEXT    NOT NULL,
    full_key   TEXT,
    value      TEXT    NOT NULL,
    updated_at INTEGER NOT NULL,
    author     TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, scope, agent_name, key)
) STRICT;
CREATE INDEX config_values_key ON config_values (tenant_id, key);

-- Model and commands by scope, the most specific one in effect: 0 the platform (tenant 0, no name), 1 a
-- workspace (no name), 2 an agent, which may be unknown.
CREATE TABLE agent_models (
    tenant_id  INTEGER NOT NULL,
    scope      INTEGER NOT NULL,
    agent_name TEXT    NOT NULL,
    full_name  TEXT,
    model      TEXT    NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, scope, agent_name)
) STRICT, WITHOUT ROWID;

CREATE TABLE command_policies (
    tenant_id  INTEGER NOT NULL,
    scope      INTEGER NOT NULL,
    agent_name TEXT    NOT NULL,
    full_name  TEXT,
    mode       INTEGER NOT NULL, -- enum policy_mode
    allow      TEXT    NOT NULL, -- a JSON array, as the next
    deny       TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, scope, agent_name)
) STRICT, WITHOUT ROWID;

-- Every version of an agent's document stays; the greatest is in effect.
CREATE TABLE agent_documents (
    tenant_id  INTEGER NOT NULL,
    agent_name TEXT    NOT NULL,
    full_name  TEXT,
    version    INTEGER NOT NULL, -- 1, 2, 3 …
    format     INTEGER NOT NULL, -- enum document_format
    document   TEXT    NOT NULL,
    bytes      INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    author     TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, agent_name, version)
) STRICT;

-- When agents are expected to report, as people set it, and maintenance.
CREATE TABLE agent_schedules (
    tenant_id     INTEGER NOT NULL,
    agent_id      INTEGER NOT NULL,
    every_seconds INTEGER,          -- NULL: by cron, or as the agent declares
    cron          TEXT,
    time_zone     TEXT,             -- of cron
    grace_seconds INTEGER,          -- NULL: by the time between two reports
    paused        INTEGER NOT NULL,
    scheduled_at  INTEGER NOT NULL, -- of the last change: it counts from then on
    PRIMARY KEY (tenant_id, agent_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE maintenance_windows (
    tenant_id    INTEGER NOT NULL,
    window_id    TEXT    NOT NULL, -- begins with its time, so that ids grow with time
    agent_id     INTEGER,          -- NULL: all agents
    note         TEXT    NOT NULL,
    from_at      INTEGER,          -- NULL: each week
    until_at     INTEGER,
    weekdays     INTEGER NOT NULL, -- a bit for each, Sunday is the lowest; 0: once
    start_minute INTEGER NOT NULL, -- of the day
    minutes      INTEGER NOT NULL,
    time_zone    TEXT,
    created_at   INTEGER NOT NULL,
    created_by   TEXT    NOT NULL,
    ended        INTEGER NOT NULL, -- a person ended it before its time
    PRIMARY KEY (tenant_id, window_id)
) STRICT, WITHOUT ROWID;


-- events: runs and the event log
-- ------------------------------

-- A run's state is derived from its events (features/events/run_state.h). run_id has no index: ids are
-- random, and are found by id_log and id_segments.
CREATE TABLE runs (
    run_no            INTEGER PRIMARY KEY,
    tenant_id         INTEGER NOT NULL REFERENCES tenants,
    run_id            TEXT    NOT NULL,
    agent_id          INTEGER NOT NULL REFERENCES agents, -- of the first event stored
    event_count       INTEGER NOT NULL,
    start_at          INTEGER NOT NULL,                   -- started_at, else first_at: what runs are listed by
    first_at          INTEGER NOT NULL,
    last_at           INTEGER NOT NULL,
    started_at        INTEGER,
    workflow_run_id   TEXT,
    closing_at        INTEGER,                            -- the latest closing event, and what it says
    closing_seq       INTEGER NOT NULL,
    closing_event     INTEGER NOT NULL,
    duration_ms       INTEGER,
    records_processed INTEGER,
    error_type        TEXT,
    error_message     TEXT,
    closing_message   TEXT    NOT NULL,
    step_at           INTEGER,                            -- the latest step
    step_seq          INTEGER NOT NULL,
    step_message      TEXT    NOT NULL,
    version_at        INTEGER,                            -- the latest event with an agent_version
    version_seq       INTEGER NOT NULL,
    agent_version     TEXT    NOT NULL
) STRICT;
CREATE INDEX runs_start ON runs (tenant_id, start_at, run_id);
CREATE INDEX runs_agent ON runs (tenant_id, agent_id, start_at, run_id);
CREATE INDEX runs_workflow
    ON runs (tenant_id, workflow_run_id, start_at, run_id)
    WHERE workflow_run_id IS NOT NULL;
-- The failed runs (closing_event) of an agent, by start.
CREATE INDEX runs_failed ON runs (tenant_id, agent_id, start_at, run_id) WHERE closing_event = 2;
-- Deleting an agent looks for rows that refer to it.
CREATE INDEX runs_reference ON runs (agent_id);

CREATE TABLE events (
    event_no          INTEGER PRIMARY KEY,
    tenant_id         INTEGER NOT NULL,
    run_no            INTEGER NOT NULL,
    agent_id          INTEGER NOT NULL,
    event             INTEGER NOT NULL, -- enum run_event
    timestamp         INTEGER NOT NULL,
    received_at       INTEGER NOT NULL,
    seq               INTEGER NOT NULL,
    duration_ms       INTEGER,
    records_processed INTEGER,
    event_uuid        BLOB,             -- the event's id, if it is a UUID
    event_id          TEXT,             -- the same, if it is not
    agent_version     TEXT    NOT NULL,
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
    output            TEXT,
    checksum          INTEGER NOT NULL  -- of the other columns (db/row_sum.h)
) STRICT;

-- Which events a run has: n of them from first_event_no on.
CREATE TABLE run_extents (
    run_no         INTEGER NOT NULL,
    first_event_no INTEGER NOT NULL,
    n              INTEGER NOT NULL,
    PRIMARY KEY (run_no, first_event_no)
) STRICT, WITHOUT ROWID;

-- The index of event and run ids (features/events/ids/ids.h): the newest as a row per transaction, the
-- others in sorted segments whose entries are in chunks.
CREATE TABLE id_secret (
    secret BLOB NOT NULL
) STRICT;

CREATE TABLE id_log (
    group_no INTEGER PRIMARY KEY,
    entries  BLOB    NOT NULL
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
    entries  BLOB    NOT NULL
) STRICT;

-- The days of the events that arrived on a day: an export by time skips those without one of its days
-- (features/events/event_days.h). A row covers the tenant's events from its first_no to the next row's.
CREATE TABLE event_days (
    tenant_id INTEGER NOT NULL,
    first_no  INTEGER NOT NULL,
    day       INTEGER NOT NULL, -- since 1970
    lags      INTEGER NOT NULL, -- a bit for each distance of a timestamp from that day
    PRIMARY KEY (tenant_id, first_no)
) STRICT, WITHOUT ROWID;

-- Deleted runs whose events are still to be deleted, step by step.
CREATE TABLE gone_runs (
    tenant_id INTEGER NOT NULL,
    run_no    INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, run_no)
) STRICT, WITHOUT ROWID;


-- kpis: business reports and their totals
-- ---------------------------------------

-- As declared at registration.
CREATE TABLE kpis (
    tenant_id INTEGER NOT NULL,
    agent_id  INTEGER NOT NULL REFERENCES agents,
    key       TEXT    NOT NULL,
    full_key  TEXT,
    label     TEXT    NOT NULL,
    unit      TEXT    NOT NULL,
    agg       TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, agent_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX kpis_reference ON kpis (agent_id);

-- What an agent reported of one run. Not table runs, which has runs with events only.
CREATE TABLE business_runs (
    run_no          INTEGER PRIMARY KEY,
    tenant_id       INTEGER NOT NULL,
    agent_id        INTEGER NOT NULL REFERENCES agents,
    run_id          TEXT    NOT NULL,
    timestamp       INTEGER NOT NULL, -- of the newest report, as the two below
    agent_version   TEXT    NOT NULL,
    workflow_run_id TEXT,
    checksum        INTEGER
) STRICT;
CREATE UNIQUE INDEX business_runs_id ON business_runs (tenant_id, run_id, agent_id);
CREATE INDEX business_runs_time ON business_runs (tenant_id, timestamp);
CREATE INDEX business_runs_reference ON business_runs (agent_id);

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
    checksum      INTEGER,
    PRIMARY KEY (tenant_id, run_no, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX business_values_time
    ON business_values (tenant_id, key, agent_id, timestamp, received_at, run_no);
-- When a report replaces the last or greatest value of an hour, the next one is at the end of an index. The
-- hour counts from a time before the year 1, since integer division truncates.
CREATE INDEX business_values_integer
    ON business_values (tenant_id, key, agent_id, ((timestamp + 63072000000000000) / 3600000000), integer_value)
    WHERE integer_value IS NOT NULL;
CREATE INDEX business_values_real
    ON business_values (tenant_id, key, agent_id, ((timestamp + 63072000000000000) / 3600000000), real_value)
    WHERE real_value IS NOT NULL;

-- A row per breakdown, not per cell: a report may have 100,000 cells, which are replaced and read as a
-- whole. `cells` is [[value of each dimension…, number],…].
CREATE TABLE business_breakdowns (
    breakdown_no    INTEGER PRIMARY KEY, -- not clustered by its key: rows are long
    tenant_id       INTEGER NOT NULL,
    run_no          INTEGER NOT NULL,
    metric          TEXT    NOT NULL,
    dimensions      TEXT    NOT NULL,    -- a JSON array of the names, sorted by bytes
    full_dimensions TEXT,
    agent_id        INTEGER NOT NULL,
    timestamp       INTEGER NOT NULL,
    received_at     INTEGER NOT NULL,
    cells           TEXT    NOT NULL,
    checksum        INTEGER
) STRICT;
CREATE UNIQUE INDEX business_breakdowns_id
    ON business_breakdowns (tenant_id, run_no, metric, dimensions);
CREATE INDEX business_breakdowns_time ON business_breakdowns (tenant_id, metric, timestamp);

-- Totals by hour and by day, kept by the transactions that store values, so that reading a month does not
-- read its values. A series is a key that an agent has reported.
CREATE TABLE business_series (
    series_no INTEGER PRIMARY KEY,
    tenant_id INTEGER NOT NULL,
    key       TEXT    NOT NULL,
    agent_id  INTEGER NOT NULL,
    full_key  TEXT
) STRICT;
CREATE UNIQUE INDEX business_series_key ON business_series (tenant_id, key, agent_id);

CREATE TABLE business_rollups (
    tenant_id INTEGER NOT NULL,
    series_no INTEGER NOT NULL,
    level     INTEGER NOT NULL, -- 0: of an hour, 1: of a day
    start     INTEGER NOT NULL,
    state     BLOB    NOT NULL, -- features/kpis/kpi_state.h
    PRIMARY KEY (tenant_id, series_no, level, start)
) STRICT, WITHOUT ROWID;


-- cost: LLM usage, its totals, prices
-- -----------------------------------

-- The key is the identity of a usage, in the order in which usage arrives and is read: by time.
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
    checksum           INTEGER,
    fresh_tokens       INTEGER, -- input without cached tokens; NULL: the price says it
    PRIMARY KEY (tenant_id, timestamp, agent_id, run_id, model)
) STRICT, WITHOUT ROWID;
-- What a page of runs spent.
CREATE INDEX llm_usage_run ON llm_usage (tenant_id, run_id);

-- Sums per hour and per day, kept by the transactions that store usage. What has no uniform price, or is
-- across the edge of a range, is read from smaller sums or from llm_usage.
CREATE TABLE llm_totals (
    tenant_id          INTEGER NOT NULL,
    width              INTEGER NOT NULL, -- 0: an hour, 1: a day
    start              INTEGER NOT NULL,
    agent_id           INTEGER NOT NULL,
    model              TEXT    NOT NULL,
    n_rows             INTEGER NOT NULL,
    n_large            INTEGER NOT NULL, -- of them too large for these sums, and not in them
    first_at           INTEGER NOT NULL, -- the least timestamp, or less
    last_at            INTEGER NOT NULL, -- the greatest, or more
    input_tokens       INTEGER NOT NULL,
    output_tokens      INTEGER NOT NULL,
    cache_read_tokens  INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    calls              INTEGER NOT NULL,
    fresh_tokens       INTEGER NOT NULL, -- input without cached ones, where it can hold them
    PRIMARY KEY (tenant_id, width, start, agent_id, model)
) STRICT, WITHOUT ROWID;

-- Prices of models, for the whole platform: attodollars per token, which are 12 decimals of dollars per
-- million tokens.
CREATE TABLE prices (
    price_id             INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice
    model                TEXT    NOT NULL,
    provider             TEXT    NOT NULL,
    input                INTEGER NOT NULL,
    output               INTEGER NOT NULL,
    cache_read           INTEGER,                           -- NULL: as input
    cache_write          INTEGER,
    input_includes_cache INTEGER NOT NULL,
    valid_from           INTEGER NOT NULL,                  -- the least number: always
    aliases              TEXT    NOT NULL,                  -- a JSON array
    updated_at           INTEGER NOT NULL,
    built_in_as_of       INTEGER                            -- date of the built-in list; NULL: set by a person
) STRICT;
CREATE UNIQUE INDEX prices_model ON prices (model, valid_from);


-- webhooks
-- --------

-- A webhook with many deliveries is removed at once, and its deliveries follow in steps.
CREATE TABLE webhooks (
    tenant_id  INTEGER NOT NULL,
    webhook_id TEXT    NOT NULL,
    url        TEXT    NOT NULL,
    format     INTEGER NOT NULL,           -- enum webhook_format
    types      TEXT    NOT NULL,           -- separated by commas; empty: all
    label      TEXT    NOT NULL,
    enabled    INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    secret     BLOB    NOT NULL,           -- sealed
    old_secret BLOB,                       -- signs too until old_until
    old_until  INTEGER,
    removed    INTEGER NOT NULL DEFAULT 0, -- 1: hidden, and its deliveries are being deleted
    PRIMARY KEY (tenant_id, webhook_id)
) STRICT, WITHOUT ROWID;

-- Stored with the change that it reports; its deliveries follow in steps.
CREATE TABLE messages (
    tenant_id  INTEGER NOT NULL,
    message_id TEXT    NOT NULL,
    type       TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    data       TEXT    NOT NULL,           -- a JSON object
    pending    INTEGER NOT NULL DEFAULT 0, -- 1: without its deliveries
    PRIMARY KEY (tenant_id, message_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX messages_old ON messages (created_at);
CREATE INDEX messages_pending ON messages (tenant_id, created_at, message_id) WHERE pending = 1;

-- delivery_id begins with its time, so that ids grow with time.
CREATE TABLE deliveries (
    tenant_id   INTEGER NOT NULL,
    delivery_id TEXT    NOT NULL,
    webhook_id  TEXT    NOT NULL,
    message_id  TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    state       INTEGER NOT NULL, -- enum delivery_state
    attempts    INTEGER NOT NULL,
    next_at     INTEGER,          -- of the next attempt; NULL: none
    last_at     INTEGER,
    last_status INTEGER,          -- of HTTP
    last_ms     INTEGER,
    last_error  TEXT,
    PRIMARY KEY (tenant_id, delivery_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_due
    ON deliveries (tenant_id, webhook_id, next_at)
    WHERE next_at IS NOT NULL;
CREATE INDEX deliveries_log ON deliveries (tenant_id, webhook_id, delivery_id);
CREATE INDEX deliveries_old ON deliveries (created_at);
CREATE INDEX deliveries_message ON deliveries (tenant_id, message_id);
-- The next one due, without reading all that wait.
CREATE INDEX deliveries_next
    ON deliveries (next_at, tenant_id, webhook_id)
    WHERE next_at IS NOT NULL;


-- alerts
-- ------

-- What a tenant wants to be alerted of.
CREATE TABLE alert_rules (
    tenant_id    INTEGER PRIMARY KEY,
    run_failed   INTEGER NOT NULL,
    run_stuck    INTEGER NOT NULL,
    bounds       INTEGER NOT NULL,          -- how many KPIs and budgets are watched
    version      INTEGER NOT NULL,          -- grows each time they are set
    updated_at   INTEGER NOT NULL,
    rules        TEXT    NOT NULL,          -- all of them: the JSON object that was set
    remind_hours INTEGER,                   -- NULL: messages are not repeated
    hard_budgets INTEGER NOT NULL DEFAULT 0 -- how many
) STRICT;
CREATE INDEX alert_rules_hard ON alert_rules (tenant_id) WHERE hard_budgets > 0;

-- alert_id begins with its time, so that ids grow with time.
CREATE TABLE alerts (
    tenant_id       INTEGER NOT NULL,
    alert_id        TEXT    NOT NULL,
    type            TEXT    NOT NULL, -- as of the message that opens it
    agent_id        INTEGER NOT NULL, -- 0: of no agent
    subject         TEXT    NOT NULL, -- what else it is about: a run_id, a rule; empty: nothing
    run_no          INTEGER,          -- of a run
    open            INTEGER NOT NULL,
    told            INTEGER NOT NULL, -- 0: opened while its agent was muted
    since_at        INTEGER NOT NULL, -- when what it is about began
    opened_at       INTEGER NOT NULL,
    closed_at       INTEGER,
    closed_by       TEXT,             -- why it is closed
    away_seconds    INTEGER,
    limit_seconds   INTEGER,          -- that was passed: the interval, the time for a run
    acknowledged_at INTEGER,
    acknowledged_by TEXT,
    detail          TEXT    NOT NULL, -- a JSON object
    note            TEXT,             -- the newest one
    reminded_at     INTEGER,          -- NULL: its message was not repeated
    PRIMARY KEY (tenant_id, alert_id)
) STRICT;
-- One at a time per subject, whichever process opens it.
CREATE UNIQUE INDEX alerts_open ON alerts (tenant_id, type, agent_id, subject) WHERE open = 1;
CREATE INDEX alerts_state ON alerts (tenant_id, open, alert_id);
CREATE INDEX alerts_agent ON alerts (tenant_id, agent_id, alert_id);
-- A failed run is reported once, whatever becomes of it.
CREATE UNIQUE INDEX alerts_failed ON alerts (tenant_id, subject) WHERE type = 'run.failed';

-- What people did about an alert, and reminders.
CREATE TABLE alert_history (
    tenant_id INTEGER NOT NULL,
    alert_id  TEXT    NOT NULL,
    entry_id  TEXT    NOT NULL, -- begins with its time, so that ids grow with time
    at        INTEGER NOT NULL,
    what      TEXT    NOT NULL,
    actor     TEXT,             -- NULL: the service
    note      TEXT,
    PRIMARY KEY (tenant_id, alert_id, entry_id)
) STRICT, WITHOUT ROWID;

-- Up to which run, by start and id, a tenant's runs were checked for stuck ones, and earlier runs that may
-- take longer.
CREATE TABLE stuck_marks (
    tenant_id INTEGER PRIMARY KEY,
    start_at  INTEGER NOT NULL,
    run_id    TEXT    NOT NULL
) STRICT;

CREATE TABLE stuck_later (
    tenant_id INTEGER NOT NULL,
    due_at    INTEGER NOT NULL,
    run_no    INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, due_at, run_no)
) STRICT, WITHOUT ROWID;

-- The change numbers that exist.
INSERT INTO change_numbers (topic, number) VALUES
    ('registry', 1), ('registry_all', 0), -- the number since which everything must be loaded
    ('people', 1),
    ('tenant_id', 0), ('agent_id', 0), -- no greater number than these was deleted: none is given twice
    ('event_no', 0), ('run_no', 0),
    ('prices', 1),
    ('built_in_prices', 0); -- 1: the list built into the program was added

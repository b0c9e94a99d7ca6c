-- The schema of 1.0 for PostgreSQL; 0001_schema.sql is its sibling.
-- Times are microseconds since 1970, UTC. tenant_id 0 is the platform.
-- A name that may be longer than an index entry (an agent's, a KPI's, a parameter's) is shortened in its
-- column (db/name_key.h); full_… then has all of it and is NULL otherwise.
-- tenant_id leads every key and unique index, so that Citus can distribute the tables by it; those
-- without it, and small ones, are whole on each server (db/distribution.c).


-- access: tenants, keys, rate limits
-- ----------------------------------

-- What a process keeps in memory has a number; each change adds one.
CREATE TABLE change_numbers (
    topic        TEXT   PRIMARY KEY,
    number       BIGINT NOT NULL
);

-- What each of the last registry changes was about, in the slot of its number: an agent that was enabled,
-- disabled or deleted, or 0. A process that has loaded up to a number looks up the agents of those that
-- follow, and all agents when one is missing.
CREATE TABLE registry_changes (
    slot         BIGINT NOT NULL PRIMARY KEY,
    number       BIGINT NOT NULL,
    about_tenant BIGINT NOT NULL,
    about_agent  BIGINT NOT NULL
);

-- A deleted tenant's rows are erased step by step, its own row last; its slug is free at once.
CREATE TABLE tenants (
    tenant_id  BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    slug       TEXT   NOT NULL UNIQUE,
    name       TEXT   NOT NULL,
    max_agents BIGINT NOT NULL,
    rate_limit BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    changed    BIGINT NOT NULL DEFAULT 0, -- the registry's number of the last change
    deleted_at BIGINT,                    -- NULL: not deleted
    agents     BIGINT NOT NULL DEFAULT 0, -- how many it has
    max_bytes  BIGINT NOT NULL DEFAULT 0  -- 0: no quota
);
CREATE INDEX tenants_changed ON tenants (changed);

-- How many bytes a tenant has stored: a row per writer that adds to it.
CREATE TABLE tenant_bytes (
    tenant_id BIGINT NOT NULL,
    part      BIGINT NOT NULL,
    bytes     BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, part)
);

-- All keys made from one another by rotation are a line, named after its first key.
CREATE TABLE keys (
    tenant_id     BIGINT   NOT NULL REFERENCES tenants,
    key_id        TEXT     NOT NULL,
    digest        BYTEA    NOT NULL,           -- SHA-256 of the token, which is stored nowhere
    agent_name    TEXT,                        -- NULL: a workspace key
    label         TEXT     NOT NULL,
    created_at    BIGINT   NOT NULL,
    last_used_at  BIGINT,
    expires_at    BIGINT,
    revoked_at    BIGINT,
    predecessor   TEXT,                        -- the key_id that it replaces; NULL: created by a person
    rotated_at    BIGINT,                      -- the first time
    first_used_at BIGINT,                      -- of a successor
    changed       BIGINT   NOT NULL DEFAULT 0, -- the registry's number of the last change
    line          TEXT,                        -- NULL: its own key_id
    read_only     SMALLINT NOT NULL DEFAULT 0, -- 1: never bound to an agent
    PRIMARY KEY (tenant_id, key_id)
);
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

-- What each process let through of each rate limit. Not logged: a commit of these alone waits for no disk
-- and no standby; empty after a crash of the server.
CREATE UNLOGGED TABLE rate_windows (
    name     TEXT   COLLATE "C" NOT NULL, -- of the window: a digest of whose it is
    node     TEXT   COLLATE "C" NOT NULL, -- the process that counted; it alone changes the row
    at       BIGINT NOT NULL, -- a second of the wall clock, when it was stored
    n        BIGINT NOT NULL, -- requests let through
    PRIMARY KEY (name, node, at)
);

-- Processes that run.
CREATE UNLOGGED TABLE nodes (
    node    TEXT    PRIMARY KEY,
    seen_at BIGINT  NOT NULL
);

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


-- access: users and their sign-in, which belong to the platform
-- -------------------------------------------------------------

CREATE TABLE users (
    user_id       TEXT   PRIMARY KEY,        -- user_…: public
    email         TEXT   NOT NULL UNIQUE,    -- trimmed, in small letters
    password      TEXT   NOT NULL,           -- argon2id with its parameters and salt
    platform_role BIGINT NOT NULL,           -- enum platform_role
    created_at    BIGINT NOT NULL,
    last_login_at BIGINT,
    confirmed     BIGINT NOT NULL DEFAULT 0, -- 1: the account belongs to the owner of its address
    made_in       BIGINT NOT NULL DEFAULT 0  -- the tenant whose admin created it; 0: none
);

CREATE TABLE user_roles (
    tenant_id BIGINT NOT NULL REFERENCES tenants,
    user_id   TEXT   NOT NULL,
    role      BIGINT NOT NULL, -- enum tenant_role
    PRIMARY KEY (tenant_id, user_id)
);
CREATE INDEX user_roles_user ON user_roles (user_id, tenant_id);

-- Which user each of the last changes of users, roles and sessions was about, in the slot of its number:
-- NULL: unknown, '': several. Read as registry_changes.
CREATE TABLE user_changes (
    slot   BIGINT NOT NULL PRIMARY KEY,
    number BIGINT NOT NULL,
    about  TEXT
);

CREATE TABLE sessions (
    digest       BYTEA  PRIMARY KEY,         -- SHA-256 of the cookie, which is stored nowhere
    user_id      TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL,            -- up to a minute late
    address      TEXT   NOT NULL DEFAULT '', -- where it was opened
    user_agent   TEXT   NOT NULL DEFAULT '',
    voucher      TEXT   NOT NULL DEFAULT ''  -- of an identity provider: the ID token, to sign out there
);
CREATE INDEX sessions_user ON sessions (user_id, created_at);

-- Tokens with which users reach the API without a browser.
CREATE TABLE personal_tokens (
    token_id   TEXT   PRIMARY KEY,     -- pat_…: public
    digest     BYTEA  NOT NULL UNIQUE, -- SHA-256 of the token, which is stored nowhere
    user_id    TEXT   NOT NULL,
    name       TEXT   NOT NULL,        -- what it is for
    role       BIGINT NOT NULL,        -- enum token_role: what the user may do with it at most
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX personal_tokens_user ON personal_tokens (user_id, created_at);

-- Links by which a person chooses a password: invitations and resets. Used and revoked ones stay for a
-- while, to say so to those who open them.
CREATE TABLE user_links (
    link_id       TEXT   PRIMARY KEY,     -- lnk_…: public
    digest        BYTEA  NOT NULL UNIQUE, -- SHA-256 of the link's token, which is stored nowhere
    kind          BIGINT NOT NULL,        -- enum link_kind
    state         BIGINT NOT NULL,        -- enum link_state
    tenant_id     BIGINT NOT NULL,        -- the tenant that invites; 0: the platform
    email         TEXT   NOT NULL,
    platform_role BIGINT NOT NULL,
    made_by       TEXT   NOT NULL,        -- e-mail address, or operator
    created_at    BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL
);
CREATE INDEX user_links_tenant ON user_links (tenant_id, created_at);
CREATE INDEX user_links_email ON user_links (email);
CREATE INDEX user_links_created ON user_links (created_at);

-- The roles that an invitation gives.
CREATE TABLE user_link_roles (
    tenant_id BIGINT NOT NULL,
    link_id   TEXT   NOT NULL,
    role      BIGINT NOT NULL, -- enum tenant_role
    PRIMARY KEY (tenant_id, link_id)
);
CREATE INDEX user_link_roles_link ON user_link_roles (link_id);

CREATE TABLE sign_in_failures (
    about     BYTEA  NOT NULL, -- a digest of an account, an address, or both
    attempt   TEXT   NOT NULL,
    failed_at BIGINT NOT NULL,
    PRIMARY KEY (about, attempt)
);
CREATE INDEX sign_in_failures_at ON sign_in_failures (failed_at);

-- Second factors, and codes for when the app is lost.
CREATE TABLE user_factors (
    user_id      TEXT   PRIMARY KEY,
    sealed       BYTEA  NOT NULL, -- the key, sealed by the vault
    active       BIGINT NOT NULL, -- 0: not confirmed by a code yet
    used_step    BIGINT NOT NULL, -- of the last code that was used: none before it is accepted
    created_at   BIGINT NOT NULL,
    confirmed_at BIGINT
);

CREATE TABLE recovery_codes (
    user_id TEXT  NOT NULL,
    digest  BYTEA NOT NULL, -- keyed by the vault; the code is stored nowhere
    PRIMARY KEY (user_id, digest)
);

-- Who a person at an identity provider is here, and which roles the provider's groups have.
CREATE TABLE user_identities (
    issuer        TEXT   NOT NULL,
    subject       TEXT   NOT NULL,
    user_id       TEXT   NOT NULL,
    created_at    BIGINT NOT NULL,
    last_login_at BIGINT,
    PRIMARY KEY (issuer, subject)
);
CREATE INDEX user_identities_user ON user_identities (user_id);

CREATE TABLE oidc_groups (
    tenant_id  BIGINT NOT NULL, -- 0: the platform
    group_name TEXT   NOT NULL,
    group_id   TEXT   NOT NULL,
    role       BIGINT NOT NULL, -- in the tenant; of the platform: always platform_admin
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, group_name)
);


-- vault: data keys wrapped by the master key, which is not in the database, and what they seal
-- --------------------------------------------------------------------------------------------

CREATE TABLE data_keys (
    tenant_id  BIGINT NOT NULL,
    version    BIGINT NOT NULL,
    wrapped    BYTEA  NOT NULL, -- nonce, ciphertext, tag
    created_at BIGINT NOT NULL,
    retired_at BIGINT,          -- nothing is sealed with it since then; destroyed seconds later
    PRIMARY KEY (tenant_id, version)
);

CREATE TABLE secrets (
    tenant_id  BIGINT NOT NULL,
    name       TEXT   NOT NULL,
    shared     BIGINT NOT NULL, -- may workspace-wide values refer to it
    version    BIGINT NOT NULL,
    sealed     BYTEA  NOT NULL, -- bound to tenant, name and version
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, name)
);


-- audit: a chain of rows per tenant and one of the platform
-- ---------------------------------------------------------

-- Each row's hash covers the row and the hash before it.
CREATE TABLE audit_log (
    tenant_id BIGINT NOT NULL,
    seq       BIGINT NOT NULL, -- 1, 2, 3 … without a gap
    at        BIGINT NOT NULL,
    actor     TEXT   NOT NULL,
    action    TEXT   NOT NULL,
    target    TEXT   NOT NULL,
    origin    TEXT   NOT NULL,
    detail    TEXT,            -- a JSON object
    hash      BYTEA  NOT NULL,
    PRIMARY KEY (tenant_id, seq)
);

-- Where a chain ends, and up to where it is signed with a key that is not in the database.
CREATE TABLE audit_heads (
    tenant_id        BIGINT PRIMARY KEY,
    seq              BIGINT NOT NULL,
    hash             BYTEA  NOT NULL,
    signed_seq       BIGINT NOT NULL DEFAULT 0,
    signed_hash      BYTEA,
    unsigned_entries BIGINT NOT NULL DEFAULT 0, -- written without the key and signed later
    signature        BYTEA
);


-- agents
-- ------

-- A deleted agent's reports stay readable under its name.
CREATE TABLE agents (
    tenant_id          BIGINT   NOT NULL REFERENCES tenants,
    agent_id           BIGINT   GENERATED ALWAYS AS IDENTITY,
    agent_name         TEXT     NOT NULL,
    enabled            SMALLINT NOT NULL,
    first_seen_at      BIGINT   NOT NULL,
    full_name          TEXT,
    registered_version TEXT     NOT NULL DEFAULT '',
    description        TEXT     NOT NULL DEFAULT '',
    telemetry_doc      TEXT     NOT NULL DEFAULT '',
    interval_seconds   BIGINT,
    inputs             TEXT,   -- JSON, as the two below; NULL: none
    outputs            TEXT,
    config_schema      TEXT,
    registered_at      BIGINT, -- the last time; NULL: never
    deleted_at         BIGINT, -- NULL: not deleted
    muted_until        BIGINT, -- NULL: not muted
    PRIMARY KEY (tenant_id, agent_id)
);
CREATE UNIQUE INDEX agents_name ON agents (tenant_id, agent_name);
-- Names by their bytes, as in SQLite.
CREATE INDEX agents_order ON agents (tenant_id, agent_name COLLATE "C");

-- How many agents a tenant has, on Citus: there a tenant's row is on all servers, this one on the tenant's
-- alone (features/agents/agents_store.c). Otherwise empty: tenants.agents counts them.
CREATE TABLE agent_counts (
    tenant_id BIGINT NOT NULL PRIMARY KEY,
    agents    BIGINT NOT NULL
);

-- Apart from agents, whose rows may be long: these are written every few seconds, and their pages have room
-- so that the index is not written.
CREATE TABLE agent_signs (
    tenant_id    BIGINT NOT NULL,
    agent_id     BIGINT NOT NULL,
    last_seen_at BIGINT, -- NULL: never
    PRIMARY KEY (tenant_id, agent_id),
    FOREIGN KEY (tenant_id, agent_id) REFERENCES agents
) WITH (fillfactor = 50);

-- Processes that said they are alive, by the name they gave themselves.
CREATE TABLE heartbeats (
    tenant_id BIGINT NOT NULL,
    client_id TEXT   NOT NULL,
    first_at  BIGINT NOT NULL,
    last_at   BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, client_id)
);

-- Who may see and edit a parameter: a row is added when its key first appears in a registration.
CREATE TABLE security_catalog (
    tenant_id  BIGINT   NOT NULL,
    key        TEXT     NOT NULL,
    full_key   TEXT,
    secret     SMALLINT NOT NULL,
    edit       TEXT     NOT NULL, -- admin, member
    see        TEXT     NOT NULL, -- admin, member, nobody
    created_at BIGINT   NOT NULL,
    PRIMARY KEY (tenant_id, key)
);

-- Scope 1: of a workspace (no agent), 2: of an agent, which may be unknown.
CREATE TABLE config_values (
    tenant_id  BIGINT NOT NULL,
    scope      BIGINT NOT NULL,
    agent_name TEXT   NOT NULL,
    full_name  TEXT,
    key        TEXT   NOT NULL,
    full_key   TEXT,
    value      TEXT   NOT NULL,
    updated_at BIGINT NOT NULL,
    author     TEXT   NOT NULL,
    PRIMARY KEY (tenant_id, scope, agent_name, key)
);
CREATE INDEX config_values_key ON config_values (tenant_id, key);

-- Model and commands by scope, the most specific one in effect: 0 the platform (tenant 0, no name), 1 a
-- workspace (no name), 2 an agent, which may be unknown.
CREATE TABLE agent_models (
    tenant_id  BIGINT   NOT NULL,
    scope      SMALLINT NOT NULL,
    agent_name TEXT     NOT NULL,
    full_name  TEXT,
    model      TEXT     NOT NULL,
    updated_at BIGINT   NOT NULL,
    PRIMARY KEY (tenant_id, scope, agent_name)
);

CREATE TABLE command_policies (
    tenant_id  BIGINT   NOT NULL,
    scope      SMALLINT NOT NULL,
    agent_name TEXT     NOT NULL,
    full_name  TEXT,
    mode       SMALLINT NOT NULL, -- enum policy_mode
    allow      TEXT     NOT NULL, -- a JSON array, as the next
    deny       TEXT     NOT NULL,
    version    BIGINT   NOT NULL,
    updated_at BIGINT   NOT NULL,
    PRIMARY KEY (tenant_id, scope, agent_name)
);

-- Every version of an agent's document stays; the greatest is in effect.
CREATE TABLE agent_documents (
    tenant_id  BIGINT   NOT NULL,
    agent_name TEXT     NOT NULL,
    full_name  TEXT,
    version    BIGINT   NOT NULL, -- 1, 2, 3 …
    format     SMALLINT NOT NULL, -- enum document_format
    document   TEXT     NOT NULL,
    bytes      BIGINT   NOT NULL,
    updated_at BIGINT   NOT NULL,
    author     TEXT     NOT NULL,
    PRIMARY KEY (tenant_id, agent_name, version)
);

-- When agents are expected to report, as people set it, and maintenance.
CREATE TABLE agent_schedules (
    tenant_id     BIGINT NOT NULL,
    agent_id      BIGINT NOT NULL,
    every_seconds BIGINT,          -- NULL: by cron, or as the agent declares
    cron          TEXT,
    time_zone     TEXT,            -- of cron
    grace_seconds BIGINT,          -- NULL: by the time between two reports
    paused        BIGINT NOT NULL,
    scheduled_at  BIGINT NOT NULL, -- of the last change: it counts from then on
    PRIMARY KEY (tenant_id, agent_id)
);

CREATE TABLE maintenance_windows (
    tenant_id    BIGINT NOT NULL,
    window_id    TEXT   COLLATE "C" NOT NULL, -- begins with its time, so that ids grow with time
    agent_id     BIGINT,                      -- NULL: all agents
    note         TEXT   NOT NULL,
    from_at      BIGINT,                      -- NULL: each week
    until_at     BIGINT,
    weekdays     BIGINT NOT NULL,             -- a bit for each, Sunday is the lowest; 0: once
    start_minute BIGINT NOT NULL,             -- of the day
    minutes      BIGINT NOT NULL,
    time_zone    TEXT,
    created_at   BIGINT NOT NULL,
    created_by   TEXT   NOT NULL,
    ended        BIGINT NOT NULL,             -- a person ended it before its time
    PRIMARY KEY (tenant_id, window_id)
);


-- events: runs and the event log
-- ------------------------------

-- A run's state is derived from its events (features/events/run_state.h). A run is inserted just before its
-- first events, without a state. Pages have room for the next states of their rows: a state stored in the
-- page of the one before needs no new index entries (HOT).
CREATE TABLE runs (
    tenant_id         BIGINT   NOT NULL,
    run_no            BIGINT   GENERATED BY DEFAULT AS IDENTITY, -- db_number() when the service stores it
    run_id            UUID     NOT NULL,
    agent_id          BIGINT   NOT NULL, -- of the first event stored
    start_at          BIGINT,            -- started_at, else first_at: what runs are listed by
    first_at          BIGINT,
    last_at           BIGINT,
    started_at        BIGINT,
    closing_at        BIGINT,            -- the latest closing event, and what it says
    closing_seq       BIGINT,
    step_at           BIGINT,            -- the latest step
    step_seq          BIGINT,
    version_at        BIGINT,            -- the latest event with an agent_version
    version_seq       BIGINT,
    duration_ms       BIGINT,
    records_processed BIGINT,
    event_count       INTEGER  NOT NULL DEFAULT 0,
    closing_event     SMALLINT,
    workflow_run_id   TEXT,
    error_type        TEXT,
    error_message     TEXT,
    closing_message   TEXT,
    step_message      TEXT,
    agent_version     TEXT,
    PRIMARY KEY (tenant_id, run_no),
    FOREIGN KEY (tenant_id, agent_id) REFERENCES agents
) WITH (fillfactor = 70);
CREATE INDEX runs_start ON runs (tenant_id, start_at, run_id);
CREATE UNIQUE INDEX runs_id ON runs (tenant_id, run_id);
CREATE INDEX runs_agent ON runs (tenant_id, agent_id, start_at, run_id) WHERE start_at IS NOT NULL;
CREATE INDEX runs_workflow
    ON runs (tenant_id, workflow_run_id, start_at, run_id)
    WHERE workflow_run_id IS NOT NULL AND start_at IS NOT NULL;
-- The failed runs (closing_event) of an agent, by start.
CREATE INDEX runs_failed ON runs (tenant_id, agent_id, start_at, run_id) WHERE closing_event = 2;

CREATE TABLE events (
    tenant_id         BIGINT   NOT NULL,
    event_no          BIGINT   GENERATED BY DEFAULT AS IDENTITY, -- db_number() when the service stores it
    run_no            BIGINT   NOT NULL,
    agent_id          BIGINT   NOT NULL,
    timestamp         BIGINT   NOT NULL,
    received_at       BIGINT   NOT NULL,
    seq               BIGINT   NOT NULL,
    checksum          BIGINT   NOT NULL, -- of the other columns (db/row_sum.h)
    duration_ms       BIGINT,
    records_processed BIGINT,
    event             SMALLINT NOT NULL, -- enum run_event
    event_uuid        UUID,              -- the event's id, if it is a UUID
    event_id          TEXT,              -- the same, if it is not
    agent_version     TEXT     NOT NULL,
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
CREATE UNIQUE INDEX events_uuid ON events (tenant_id, event_uuid) WHERE event_uuid IS NOT NULL;
CREATE UNIQUE INDEX events_id ON events (tenant_id, event_id) WHERE event_id IS NOT NULL;

-- The days of the events that arrived on a day: an export by time skips those without one of its days
-- (features/events/event_days.h). A row covers the tenant's events from its first_no to the next row's.
CREATE TABLE event_days (
    tenant_id BIGINT  NOT NULL,
    first_no  BIGINT  NOT NULL,
    day       INTEGER NOT NULL, -- since 1970
    lags      BIGINT  NOT NULL, -- a bit for each distance of a timestamp from that day
    PRIMARY KEY (tenant_id, first_no)
);

-- Deleted runs whose events are still to be deleted, step by step.
CREATE TABLE gone_runs (
    tenant_id BIGINT NOT NULL,
    run_no    BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, run_no)
);


-- kpis: business reports and their totals
-- ---------------------------------------

-- As declared at registration.
CREATE TABLE kpis (
    tenant_id BIGINT NOT NULL,
    agent_id  BIGINT NOT NULL,
    key       TEXT   NOT NULL,
    full_key  TEXT,
    label     TEXT   NOT NULL,
    unit      TEXT   NOT NULL,
    agg       TEXT   NOT NULL,
    PRIMARY KEY (tenant_id, agent_id, key)
);

-- What an agent reported of one run. Not table runs, which has runs with events only.
CREATE TABLE business_runs (
    tenant_id       BIGINT NOT NULL,
    run_no          BIGINT GENERATED ALWAYS AS IDENTITY,
    agent_id        BIGINT NOT NULL,
    run_id          TEXT   NOT NULL,
    timestamp       BIGINT NOT NULL, -- of the newest report, as the two below
    agent_version   TEXT   NOT NULL,
    workflow_run_id TEXT,
    checksum        BIGINT,
    PRIMARY KEY (tenant_id, run_no),
    FOREIGN KEY (tenant_id, agent_id) REFERENCES agents
);
CREATE UNIQUE INDEX business_runs_id ON business_runs (tenant_id, run_id, agent_id);
CREATE INDEX business_runs_time ON business_runs (tenant_id, timestamp);

CREATE TABLE business_values (
    tenant_id     BIGINT           NOT NULL,
    run_no        BIGINT           NOT NULL,
    key           TEXT             NOT NULL,
    full_key      TEXT,
    agent_id      BIGINT           NOT NULL,
    timestamp     BIGINT           NOT NULL, -- of the report that gave the value
    received_at   BIGINT           NOT NULL,
    integer_value BIGINT,                    -- one of the three
    real_value    DOUBLE PRECISION,
    text_value    TEXT,
    checksum      BIGINT,
    PRIMARY KEY (tenant_id, run_no, key)
);
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
    tenant_id       BIGINT NOT NULL,
    run_no          BIGINT NOT NULL,
    metric          TEXT   NOT NULL,
    dimensions      TEXT   NOT NULL, -- a JSON array of the names, sorted by bytes
    full_dimensions TEXT,
    agent_id        BIGINT NOT NULL,
    timestamp       BIGINT NOT NULL,
    received_at     BIGINT NOT NULL,
    cells           TEXT   NOT NULL,
    checksum        BIGINT,
    PRIMARY KEY (tenant_id, run_no, metric, dimensions)
);
CREATE INDEX business_breakdowns_time ON business_breakdowns (tenant_id, metric, timestamp);

-- Totals by hour and by day, kept by the transactions that store values, so that reading a month does not
-- read its values. A series is a key that an agent has reported.
CREATE TABLE business_series (
    tenant_id BIGINT NOT NULL,
    series_no BIGINT GENERATED ALWAYS AS IDENTITY,
    key       TEXT   NOT NULL,
    agent_id  BIGINT NOT NULL,
    full_key  TEXT,
    PRIMARY KEY (tenant_id, series_no)
);
CREATE UNIQUE INDEX business_series_key ON business_series (tenant_id, key, agent_id);

CREATE TABLE business_rollups (
    tenant_id BIGINT   NOT NULL,
    series_no BIGINT   NOT NULL,
    level     SMALLINT NOT NULL, -- 0: of an hour, 1: of a day
    start     BIGINT   NOT NULL,
    state     BYTEA    NOT NULL, -- features/kpis/kpi_state.h
    PRIMARY KEY (tenant_id, series_no, level, start)
);


-- cost: LLM usage, its totals, prices
-- -----------------------------------

-- The key is the identity of a usage, in the order in which usage arrives and is read: by time.
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
    checksum           BIGINT,
    fresh_tokens       BIGINT, -- input without cached tokens; NULL: the price says it
    PRIMARY KEY (tenant_id, timestamp, agent_id, run_id, model)
);
-- What a page of runs spent.
CREATE INDEX llm_usage_run ON llm_usage (tenant_id, run_id);

-- Sums per hour and per day, kept by the transactions that store usage. What has no uniform price, or is
-- across the edge of a range, is read from smaller sums or from llm_usage.
CREATE TABLE llm_totals (
    tenant_id          BIGINT NOT NULL,
    width              BIGINT NOT NULL, -- 0: an hour, 1: a day
    start              BIGINT NOT NULL,
    agent_id           BIGINT NOT NULL,
    model              TEXT   NOT NULL,
    n_rows             BIGINT NOT NULL,
    n_large            BIGINT NOT NULL, -- of them too large for these sums, and not in them
    first_at           BIGINT NOT NULL, -- the least timestamp, or less
    last_at            BIGINT NOT NULL, -- the greatest, or more
    input_tokens       BIGINT NOT NULL,
    output_tokens      BIGINT NOT NULL,
    cache_read_tokens  BIGINT NOT NULL,
    cache_write_tokens BIGINT NOT NULL,
    calls              BIGINT NOT NULL,
    fresh_tokens       BIGINT NOT NULL, -- input without cached ones, where it can hold them
    PRIMARY KEY (tenant_id, width, start, agent_id, model)
);

-- Prices of models, for the whole platform: attodollars per token, which are 12 decimals of dollars per
-- million tokens.
CREATE TABLE prices (
    price_id             BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- never given twice
    model                TEXT   NOT NULL,
    provider             TEXT   NOT NULL,
    input                BIGINT NOT NULL,
    output               BIGINT NOT NULL,
    cache_read           BIGINT,                                          -- NULL: as input
    cache_write          BIGINT,
    input_includes_cache BIGINT NOT NULL,
    valid_from           BIGINT NOT NULL,                                 -- the least number: always
    aliases              TEXT   NOT NULL,                                 -- a JSON array
    updated_at           BIGINT NOT NULL,
    built_in_as_of       BIGINT                                           -- date of the built-in list; NULL: set by a person
);
CREATE UNIQUE INDEX prices_model ON prices (model, valid_from);


-- webhooks
-- --------

-- A webhook with many deliveries is removed at once, and its deliveries follow in steps.
CREATE TABLE webhooks (
    tenant_id  BIGINT   NOT NULL,
    webhook_id TEXT     NOT NULL,
    url        TEXT     NOT NULL,
    format     SMALLINT NOT NULL,           -- enum webhook_format
    types      TEXT     NOT NULL,           -- separated by commas; empty: all
    label      TEXT     NOT NULL,
    enabled    SMALLINT NOT NULL,
    created_at BIGINT   NOT NULL,
    secret     BYTEA    NOT NULL,           -- sealed
    old_secret BYTEA,                       -- signs too until old_until
    old_until  BIGINT,
    removed    INTEGER  NOT NULL DEFAULT 0, -- 1: hidden, and its deliveries are being deleted
    PRIMARY KEY (tenant_id, webhook_id)
);

-- Stored with the change that it reports; its deliveries follow in steps.
CREATE TABLE messages (
    tenant_id  BIGINT  NOT NULL,
    message_id TEXT    NOT NULL,
    type       TEXT    NOT NULL,
    created_at BIGINT  NOT NULL,
    data       TEXT    NOT NULL,           -- a JSON object
    pending    INTEGER NOT NULL DEFAULT 0, -- 1: without its deliveries
    PRIMARY KEY (tenant_id, message_id)
);
CREATE INDEX messages_old ON messages (created_at);
CREATE INDEX messages_pending ON messages (tenant_id, created_at, message_id) WHERE pending = 1;

-- delivery_id begins with its time, so that ids grow with time.
CREATE TABLE deliveries (
    tenant_id   BIGINT   NOT NULL,
    delivery_id TEXT     COLLATE "C" NOT NULL,
    webhook_id  TEXT     NOT NULL,
    message_id  TEXT     NOT NULL,
    created_at  BIGINT   NOT NULL,
    state       SMALLINT NOT NULL, -- enum delivery_state
    attempts    BIGINT   NOT NULL,
    next_at     BIGINT,            -- of the next attempt; NULL: none
    last_at     BIGINT,
    last_status BIGINT,            -- of HTTP
    last_ms     BIGINT,
    last_error  TEXT,
    PRIMARY KEY (tenant_id, delivery_id)
);
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
    tenant_id    BIGINT   PRIMARY KEY,
    run_failed   SMALLINT NOT NULL,
    run_stuck    SMALLINT NOT NULL,
    bounds       BIGINT   NOT NULL,          -- how many KPIs and budgets are watched
    version      BIGINT   NOT NULL,          -- grows each time they are set
    updated_at   BIGINT   NOT NULL,
    rules        TEXT     NOT NULL,          -- all of them: the JSON object that was set
    remind_hours BIGINT,                     -- NULL: messages are not repeated
    hard_budgets BIGINT   NOT NULL DEFAULT 0 -- how many
);
CREATE INDEX alert_rules_hard ON alert_rules (tenant_id) WHERE hard_budgets > 0;

-- alert_id begins with its time, so that ids grow with time.
CREATE TABLE alerts (
    tenant_id       BIGINT   NOT NULL,
    alert_id        TEXT     COLLATE "C" NOT NULL,
    type            TEXT     NOT NULL, -- as of the message that opens it
    agent_id        BIGINT   NOT NULL, -- 0: of no agent
    subject         TEXT     NOT NULL, -- what else it is about: a run_id, a rule; empty: nothing
    run_no          BIGINT,            -- of a run
    open            SMALLINT NOT NULL,
    told            SMALLINT NOT NULL, -- 0: opened while its agent was muted
    since_at        BIGINT   NOT NULL, -- when what it is about began
    opened_at       BIGINT   NOT NULL,
    closed_at       BIGINT,
    closed_by       TEXT,              -- why it is closed
    away_seconds    BIGINT,
    limit_seconds   BIGINT,            -- that was passed: the interval, the time for a run
    acknowledged_at BIGINT,
    acknowledged_by TEXT,
    detail          TEXT     NOT NULL, -- a JSON object
    note            TEXT,              -- the newest one
    reminded_at     BIGINT,            -- NULL: its message was not repeated
    PRIMARY KEY (tenant_id, alert_id)
);
-- One at a time per subject, whichever process opens it.
CREATE UNIQUE INDEX alerts_open ON alerts (tenant_id, type, agent_id, subject) WHERE open = 1;
CREATE INDEX alerts_state ON alerts (tenant_id, open, alert_id);
CREATE INDEX alerts_agent ON alerts (tenant_id, agent_id, alert_id);
-- A failed run is reported once, whatever becomes of it.
CREATE UNIQUE INDEX alerts_failed ON alerts (tenant_id, subject) WHERE type = 'run.failed';

-- What people did about an alert, and reminders.
CREATE TABLE alert_history (
    tenant_id BIGINT NOT NULL,
    alert_id  TEXT   COLLATE "C" NOT NULL,
    entry_id  TEXT   COLLATE "C" NOT NULL, -- begins with its time, so that ids grow with time
    at        BIGINT NOT NULL,
    what      TEXT   NOT NULL,
    actor     TEXT,                        -- NULL: the service
    note      TEXT,
    PRIMARY KEY (tenant_id, alert_id, entry_id)
);

-- Up to which run, by start and id, a tenant's runs were checked for stuck ones, and earlier runs that may
-- take longer.
CREATE TABLE stuck_marks (
    tenant_id BIGINT PRIMARY KEY,
    start_at  BIGINT NOT NULL,
    run_id    TEXT   NOT NULL
);

CREATE TABLE stuck_later (
    tenant_id BIGINT NOT NULL,
    due_at    BIGINT NOT NULL,
    run_no    BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, due_at, run_no)
);

-- The change numbers that exist.
INSERT INTO change_numbers (topic, number) VALUES
    ('registry', 1), ('registry_all', 0), -- the number since which everything must be loaded
    ('people', 1),
    ('prices', 1),
    ('built_in_prices', 0); -- 1: the list built into the program was added

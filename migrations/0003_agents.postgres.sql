-- What agents say about themselves, and what they are told. Times are microseconds since 1970, UTC.
-- tenant_id leads every key and unique index, so that Citus can distribute the tables by it.
-- A name that may be longer than an index entry (an agent's, a parameter's key) stands in its
-- column shortened (store/names.h), with the whole of it in full_…, which is NULL otherwise.

ALTER TABLE agents ADD COLUMN full_name TEXT;
ALTER TABLE agents ADD COLUMN registered_version TEXT NOT NULL DEFAULT '';
ALTER TABLE agents ADD COLUMN description TEXT NOT NULL DEFAULT '';
ALTER TABLE agents ADD COLUMN telemetry_doc TEXT NOT NULL DEFAULT '';
ALTER TABLE agents ADD COLUMN interval_seconds BIGINT;
ALTER TABLE agents ADD COLUMN inputs TEXT;        -- JSON, as the two below; NULL: none
ALTER TABLE agents ADD COLUMN outputs TEXT;
ALTER TABLE agents ADD COLUMN config_schema TEXT;
ALTER TABLE agents ADD COLUMN registered_at BIGINT; -- the last time; NULL: it only reported
ALTER TABLE agents ADD COLUMN heartbeat_at BIGINT;  -- the last one with a key of its own

-- Who may see and edit a parameter. A row is made when its key first appears in a registration,
-- and no registration ever changes it.
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

-- Processes that said they are alive, by the name that they gave themselves.
CREATE TABLE heartbeats (
    tenant_id BIGINT NOT NULL,
    client_id TEXT   NOT NULL,
    first_at  BIGINT NOT NULL,
    last_at   BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, client_id)
);

-- What agents are told, by scope: 0 the platform (tenant 0, no name), 1 a workspace (no name), 2 an
-- agent, which need not be known yet. The most special one counts.
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

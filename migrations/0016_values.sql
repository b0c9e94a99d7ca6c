-- Configuration values: scope 1 of a workspace (no agent), 2 of an agent, which need not be known
-- yet. Names longer than an index entry stand shortened (store/names.h).

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

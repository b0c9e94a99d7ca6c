-- Empty in SQLite: agents are counted in the rows of tenants.

CREATE TABLE agent_counts (
    tenant_id INTEGER NOT NULL PRIMARY KEY,
    agents    INTEGER NOT NULL,
    lock_xmin INTEGER NOT NULL
) STRICT;

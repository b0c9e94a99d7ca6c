-- How many agents a tenant has, where Citus distributes the database: a tenant's own row in tenants is on all
-- servers there, this one on the tenant's alone (features/agents/agent_count.h).

CREATE TABLE agent_counts (
    tenant_id BIGINT NOT NULL PRIMARY KEY,
    agents    BIGINT NOT NULL,
    lock_xmin BIGINT NOT NULL -- of the row that adding agents locks, when they were counted
);

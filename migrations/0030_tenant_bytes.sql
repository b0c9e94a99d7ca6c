-- A plan may have a quota of bytes. What is stored of a tenant is counted in the transactions that store
-- and delete it (features/access/stored_bytes.h), in several rows: one for each writer that adds to it.

ALTER TABLE tenants ADD COLUMN max_bytes INTEGER NOT NULL DEFAULT 0; -- 0: no quota

CREATE TABLE tenant_bytes (
    tenant_id INTEGER NOT NULL,
    part      INTEGER NOT NULL,
    bytes     INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, part)
) STRICT, WITHOUT ROWID;

INSERT INTO tenant_bytes (tenant_id, part, bytes) SELECT tenant_id, 0, SUM(bytes) FROM (
    SELECT tenant_id, SUM(
        100 + COALESCE(LENGTH(CAST(event_id AS BLOB)), 0) + COALESCE(LENGTH(CAST(agent_version AS
        BLOB)), 0) + COALESCE(LENGTH(CAST(error_type AS BLOB)), 0) +
        COALESCE(LENGTH(CAST(error_message AS BLOB)), 0) + COALESCE(LENGTH(CAST(workflow_run_id AS
        BLOB)), 0) + COALESCE(LENGTH(CAST(message AS BLOB)), 0) + COALESCE(LENGTH(CAST(level AS
        BLOB)), 0) + COALESCE(LENGTH(CAST(category AS BLOB)), 0) + COALESCE(LENGTH(CAST(source AS
        BLOB)), 0) + COALESCE(LENGTH(CAST(metadata AS BLOB)), 0) + COALESCE(LENGTH(CAST(metrics AS
        BLOB)), 0) + COALESCE(LENGTH(CAST(links AS BLOB)), 0) + COALESCE(LENGTH(CAST(output AS
        BLOB)), 0)) AS bytes
    FROM events GROUP BY tenant_id
    UNION ALL
    SELECT tenant_id, SUM(
        100 + COALESCE(LENGTH(CAST(key AS BLOB)), 0) + COALESCE(LENGTH(CAST(full_key AS BLOB)), 0)
        + COALESCE(LENGTH(CAST(text_value AS BLOB)), 0)) AS bytes
    FROM business_values GROUP BY tenant_id
    UNION ALL
    SELECT tenant_id, SUM(
        100 + COALESCE(LENGTH(CAST(metric AS BLOB)), 0) + COALESCE(LENGTH(CAST(dimensions AS
        BLOB)), 0) + COALESCE(LENGTH(CAST(full_dimensions AS BLOB)), 0) +
        COALESCE(LENGTH(CAST(cells AS BLOB)), 0)) AS bytes
    FROM business_breakdowns GROUP BY tenant_id
    UNION ALL
    SELECT tenant_id, SUM(
        100 + COALESCE(LENGTH(CAST(run_id AS BLOB)), 0) + COALESCE(LENGTH(CAST(model AS BLOB)), 0)
        + COALESCE(LENGTH(CAST(agent_version AS BLOB)), 0) + COALESCE(LENGTH(CAST(workflow_run_id
        AS BLOB)), 0)) AS bytes
    FROM llm_usage GROUP BY tenant_id
) GROUP BY tenant_id;

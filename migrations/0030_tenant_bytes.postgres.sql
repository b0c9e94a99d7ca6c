-- A plan may have a quota of bytes. What is stored of a tenant is counted in the transactions that store
-- and delete it (features/access/stored_bytes.h), in several rows: one for each writer that adds to it.

ALTER TABLE tenants ADD COLUMN max_bytes BIGINT NOT NULL DEFAULT 0; -- 0: no quota

CREATE TABLE tenant_bytes (
    tenant_id BIGINT NOT NULL,
    part      BIGINT NOT NULL,
    bytes     BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, part)
);

INSERT INTO tenant_bytes (tenant_id, part, bytes) SELECT tenant_id, 0, SUM(bytes) FROM (
    SELECT tenant_id, SUM(
        100 + COALESCE(octet_length(event_id), 0) + COALESCE(octet_length(agent_version), 0) +
        COALESCE(octet_length(error_type), 0) + COALESCE(octet_length(error_message), 0) +
        COALESCE(octet_length(workflow_run_id), 0) + COALESCE(octet_length(message), 0) +
        COALESCE(octet_length(level), 0) + COALESCE(octet_length(category), 0) +
        COALESCE(octet_length(source), 0) + COALESCE(octet_length(metadata), 0) +
        COALESCE(octet_length(metrics), 0) + COALESCE(octet_length(links), 0) +
        COALESCE(octet_length(output), 0)) AS bytes
    FROM events GROUP BY tenant_id
    UNION ALL
    SELECT tenant_id, SUM(
        100 + COALESCE(octet_length(key), 0) + COALESCE(octet_length(full_key), 0) +
        COALESCE(octet_length(text_value), 0)) AS bytes
    FROM business_values GROUP BY tenant_id
    UNION ALL
    SELECT tenant_id, SUM(
        100 + COALESCE(octet_length(metric), 0) + COALESCE(octet_length(dimensions), 0) +
        COALESCE(octet_length(full_dimensions), 0) + COALESCE(octet_length(cells), 0)) AS bytes
    FROM business_breakdowns GROUP BY tenant_id
    UNION ALL
    SELECT tenant_id, SUM(
        100 + COALESCE(octet_length(run_id), 0) + COALESCE(octet_length(model), 0) +
        COALESCE(octet_length(agent_version), 0) + COALESCE(octet_length(workflow_run_id), 0)) AS bytes
    FROM llm_usage GROUP BY tenant_id
) AS stored GROUP BY tenant_id;

-- Signs of life. Times are microseconds since 1970, UTC.
-- tenant_id leads every key and unique index, so that Citus can distribute the tables by it.
-- Apart from table agents, whose rows may be long: these are written every few seconds, and room is
-- left in their pages so that the index need not be.

CREATE TABLE agent_signs ( -- one row for each agent
    tenant_id    BIGINT NOT NULL,
    agent_id     BIGINT NOT NULL,
    last_seen_at BIGINT, -- when we last got anything of it; NULL: never
    PRIMARY KEY (tenant_id, agent_id),
    FOREIGN KEY (tenant_id, agent_id) REFERENCES agents
) WITH (fillfactor = 50);

INSERT INTO agent_signs (tenant_id, agent_id, last_seen_at)
SELECT a.tenant_id, a.agent_id, MAX(s.at)
FROM agents a LEFT JOIN (
    SELECT tenant_id, agent_id, MAX(received_at) AS at FROM events GROUP BY tenant_id, agent_id
    UNION ALL SELECT tenant_id, agent_id, MAX(received_at) FROM business_values
        GROUP BY tenant_id, agent_id
    UNION ALL SELECT tenant_id, agent_id, MAX(received_at) FROM llm_usage
        GROUP BY tenant_id, agent_id
    UNION ALL SELECT tenant_id, agent_id, heartbeat_at FROM agents
) s ON s.tenant_id = a.tenant_id AND s.agent_id = a.agent_id
GROUP BY a.tenant_id, a.agent_id;

ALTER TABLE agents DROP COLUMN heartbeat_at;

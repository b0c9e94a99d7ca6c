-- Signs of life. Times are microseconds since 1970, UTC.
-- Apart from table agents, whose rows may be long: these are written every few seconds.

CREATE TABLE agent_signs ( -- one row for each agent
    tenant_id    INTEGER NOT NULL,
    agent_id     INTEGER NOT NULL,
    last_seen_at INTEGER, -- when we last got anything of it; NULL: never
    PRIMARY KEY (tenant_id, agent_id)
) STRICT, WITHOUT ROWID;

INSERT INTO agent_signs (tenant_id, agent_id, last_seen_at)
SELECT a.tenant_id, a.agent_id, MAX(s.at)
FROM agents a LEFT JOIN (
    SELECT agent_id, MAX(received_at) AS at FROM events GROUP BY agent_id
    UNION ALL SELECT agent_id, MAX(received_at) FROM business_values GROUP BY agent_id
    UNION ALL SELECT agent_id, MAX(received_at) FROM llm_usage GROUP BY agent_id
    UNION ALL SELECT agent_id, heartbeat_at FROM agents
) s ON s.agent_id = a.agent_id
GROUP BY a.tenant_id, a.agent_id;

ALTER TABLE agents DROP COLUMN heartbeat_at;

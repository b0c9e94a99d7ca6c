-- Free-form configuration documents of agents: every version stays; the greatest one counts. The
-- agent need not be known yet. A name longer than an index entry stands shortened (store/names.h).

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

-- Free-form configuration documents of agents: every version stays; the greatest one counts. The
-- agent need not be known yet. A name longer than an index entry stands shortened (store/names.h).

CREATE TABLE agent_documents (
    tenant_id  INTEGER NOT NULL,
    agent_name TEXT    NOT NULL,
    full_name  TEXT,
    version    INTEGER NOT NULL, -- 1, 2, 3 …
    format     INTEGER NOT NULL, -- enum document_format
    document   TEXT    NOT NULL,
    bytes      INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    author     TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, agent_name, version)
) STRICT;

-- What the next version might add: columns of the tables that reports change, and a table.

ALTER TABLE events ADD COLUMN next_note TEXT;
ALTER TABLE runs ADD COLUMN next_note TEXT NOT NULL DEFAULT '';
ALTER TABLE agents ADD COLUMN next_note TEXT;

CREATE TABLE next_things (
    tenant_id BIGINT NOT NULL,
    thing     TEXT   NOT NULL,
    PRIMARY KEY (tenant_id, thing)
);

-- Of the manifest of distributed tables: tests/cluster/test_citus.py takes it away before.
CREATE TABLE IF NOT EXISTS rate_windows (
    name TEXT   NOT NULL,
    node TEXT   NOT NULL,
    at   BIGINT NOT NULL,
    n    BIGINT NOT NULL,
    PRIMARY KEY (name, node, at)
);

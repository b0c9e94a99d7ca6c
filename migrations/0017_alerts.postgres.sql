-- Alerts. Times are microseconds since 1970, UTC.
-- tenant_id leads every key and unique index, so that Citus can distribute the tables by it.

ALTER TABLE agents ADD COLUMN muted_until BIGINT; -- NULL: it is not muted

CREATE TABLE alerts (
    tenant_id       BIGINT   NOT NULL,
    alert_id        TEXT     COLLATE "C" NOT NULL, -- begins with its time, so that ids grow with time
    type            TEXT     NOT NULL, -- as of the message that opens it
    agent_id        BIGINT   NOT NULL, -- 0: of no agent
    subject         TEXT     NOT NULL, -- what else it is about: a run_id, a rule; empty: nothing
    run_no          BIGINT,            -- of a run
    open            SMALLINT NOT NULL,
    told            SMALLINT NOT NULL, -- 0: opened while its agent was muted
    since_at        BIGINT   NOT NULL, -- when what it is about began
    opened_at       BIGINT   NOT NULL,
    closed_at       BIGINT,
    closed_by       TEXT,              -- why it is closed
    away_seconds    BIGINT,
    limit_seconds   BIGINT, -- that was passed: the interval, the time for a run
    acknowledged_at BIGINT,
    acknowledged_by TEXT,
    detail          TEXT     NOT NULL, -- a JSON object
    PRIMARY KEY (tenant_id, alert_id)
);

-- One at a time for each subject, whichever process opens it.
CREATE UNIQUE INDEX alerts_open ON alerts (tenant_id, type, agent_id, subject) WHERE open = 1;
CREATE INDEX alerts_state ON alerts (tenant_id, open, alert_id);
CREATE INDEX alerts_agent ON alerts (tenant_id, agent_id, alert_id);

-- Up to which start each tenant's runs were looked through for stuck ones, and those that are older
-- than that but may take longer.
CREATE TABLE stuck_marks (
    tenant_id BIGINT PRIMARY KEY,
    start_at  BIGINT NOT NULL
);

CREATE TABLE stuck_later (
    tenant_id BIGINT NOT NULL,
    due_at    BIGINT NOT NULL,
    run_no    BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, due_at, run_no)
);

-- Alerts. Times are microseconds since 1970, UTC.

ALTER TABLE agents ADD COLUMN muted_until INTEGER; -- NULL: it is not muted

CREATE TABLE alerts (
    tenant_id       INTEGER NOT NULL,
    alert_id        TEXT    NOT NULL, -- begins with its time, so that ids grow with time
    type            TEXT    NOT NULL, -- as of the message that opens it
    agent_id        INTEGER NOT NULL, -- 0: of no agent
    subject         TEXT    NOT NULL, -- what else it is about: a run_id, a rule; empty: nothing
    run_no          INTEGER,          -- of a run
    open            INTEGER NOT NULL,
    told            INTEGER NOT NULL, -- 0: opened while its agent was muted
    since_at        INTEGER NOT NULL, -- when what it is about began
    opened_at       INTEGER NOT NULL,
    closed_at       INTEGER,
    closed_by       TEXT,             -- why it is closed
    away_seconds    INTEGER,
    limit_seconds   INTEGER, -- that was passed: the interval, the time for a run
    acknowledged_at INTEGER,
    acknowledged_by TEXT,
    detail          TEXT    NOT NULL, -- a JSON object
    PRIMARY KEY (tenant_id, alert_id)
) STRICT;

-- One at a time for each subject, whichever process opens it.
CREATE UNIQUE INDEX alerts_open ON alerts (tenant_id, type, agent_id, subject) WHERE open = 1;
CREATE INDEX alerts_state ON alerts (tenant_id, open, alert_id);
CREATE INDEX alerts_agent ON alerts (tenant_id, agent_id, alert_id);

-- Up to which start each tenant's runs were looked through for stuck ones, and those that are older
-- than that but may take longer.
CREATE TABLE stuck_marks (
    tenant_id INTEGER PRIMARY KEY,
    start_at  INTEGER NOT NULL
) STRICT;

CREATE TABLE stuck_later (
    tenant_id INTEGER NOT NULL,
    due_at    INTEGER NOT NULL,
    run_no    INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, due_at, run_no)
) STRICT, WITHOUT ROWID;

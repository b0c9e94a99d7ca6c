-- When agents are expected to report, as people set it, and maintenance. Times are microseconds since 1970, UTC.

CREATE TABLE agent_schedules (
    tenant_id     INTEGER NOT NULL,
    agent_id      INTEGER NOT NULL,
    every_seconds INTEGER,          -- NULL: by cron, or as the agent declares
    cron          TEXT,
    time_zone     TEXT,             -- of cron
    grace_seconds INTEGER,          -- NULL: by the time between two reports
    paused        INTEGER NOT NULL,
    scheduled_at  INTEGER NOT NULL, -- of the last change: it counts from then on
    PRIMARY KEY (tenant_id, agent_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE maintenance_windows (
    tenant_id    INTEGER NOT NULL,
    window_id    TEXT    NOT NULL, -- begins with its time, so that ids grow with time
    agent_id     INTEGER,          -- NULL: all agents
    note         TEXT    NOT NULL,
    from_at      INTEGER,          -- NULL: each week
    until_at     INTEGER,
    weekdays     INTEGER NOT NULL, -- a bit for each, Sunday is the lowest; 0: once
    start_minute INTEGER NOT NULL, -- of the day
    minutes      INTEGER NOT NULL,
    time_zone    TEXT,
    created_at   INTEGER NOT NULL,
    created_by   TEXT    NOT NULL,
    ended        INTEGER NOT NULL, -- a person ended it before its time
    PRIMARY KEY (tenant_id, window_id)
) STRICT, WITHOUT ROWID;

-- When agents are expected to report, as people set it, and maintenance. Times are microseconds since 1970, UTC.

CREATE TABLE agent_schedules (
    tenant_id     BIGINT NOT NULL,
    agent_id      BIGINT NOT NULL,
    every_seconds BIGINT,          -- NULL: by cron, or as the agent declares
    cron          TEXT,
    time_zone     TEXT,             -- of cron
    grace_seconds BIGINT,          -- NULL: by the time between two reports
    paused        BIGINT NOT NULL,
    scheduled_at  BIGINT NOT NULL, -- of the last change: it counts from then on
    PRIMARY KEY (tenant_id, agent_id)
);

CREATE TABLE maintenance_windows (
    tenant_id    BIGINT NOT NULL,
    window_id    TEXT   COLLATE "C" NOT NULL, -- begins with its time, so that ids grow with time
    agent_id     BIGINT,          -- NULL: all agents
    note         TEXT    NOT NULL,
    from_at      BIGINT,          -- NULL: each week
    until_at     BIGINT,
    weekdays     BIGINT NOT NULL, -- a bit for each, Sunday is the lowest; 0: once
    start_minute BIGINT NOT NULL, -- of the day
    minutes      BIGINT NOT NULL,
    time_zone    TEXT,
    created_at   BIGINT NOT NULL,
    created_by   TEXT    NOT NULL,
    ended        BIGINT NOT NULL, -- a person ended it before its time
    PRIMARY KEY (tenant_id, window_id)
);

-- What people do about alerts, and reminders. Times are microseconds since 1970, UTC.

ALTER TABLE alerts ADD COLUMN note TEXT; -- the newest one
ALTER TABLE alerts ADD COLUMN reminded_at BIGINT; -- NULL: its message was not repeated

ALTER TABLE alert_rules ADD COLUMN remind_hours BIGINT; -- NULL: messages are not repeated

CREATE TABLE alert_history (
    tenant_id BIGINT NOT NULL,
    alert_id  TEXT   COLLATE "C" NOT NULL,
    entry_id  TEXT   COLLATE "C" NOT NULL, -- begins with its time, so that ids grow with time
    at        BIGINT NOT NULL,
    what      TEXT   NOT NULL,
    actor     TEXT,            -- NULL: the service
    note      TEXT,
    PRIMARY KEY (tenant_id, alert_id, entry_id)
);

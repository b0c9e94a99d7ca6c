-- What people do about alerts, and reminders. Times are microseconds since 1970, UTC.

ALTER TABLE alerts ADD COLUMN note TEXT; -- the newest one
ALTER TABLE alerts ADD COLUMN reminded_at INTEGER; -- NULL: its message was not repeated

ALTER TABLE alert_rules ADD COLUMN remind_hours INTEGER; -- NULL: messages are not repeated

CREATE TABLE alert_history (
    tenant_id INTEGER NOT NULL,
    alert_id  TEXT    NOT NULL,
    entry_id  TEXT    NOT NULL, -- begins with its time, so that ids grow with time
    at        INTEGER NOT NULL,
    what      TEXT    NOT NULL,
    actor     TEXT,             -- NULL: the service
    note      TEXT,
    PRIMARY KEY (tenant_id, alert_id, entry_id)
) STRICT, WITHOUT ROWID;

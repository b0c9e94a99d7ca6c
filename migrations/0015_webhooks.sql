-- Webhooks, the messages for them, and each message's delivery to each webhook. Times are
-- microseconds since 1970, UTC. delivery_id begins with its time, so that ids grow with time.

CREATE TABLE webhooks (
    tenant_id     INTEGER NOT NULL,
    webhook_id    TEXT    NOT NULL,
    url           TEXT    NOT NULL,
    format        INTEGER NOT NULL, -- enum webhook_format
    types         TEXT    NOT NULL, -- separated by commas; empty: all
    label         TEXT    NOT NULL,
    enabled       INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    secret        BLOB    NOT NULL, -- sealed
    old_secret    BLOB,             -- signs too until old_until
    old_until     INTEGER,
    PRIMARY KEY (tenant_id, webhook_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE messages (
    tenant_id  INTEGER NOT NULL,
    message_id TEXT    NOT NULL,
    type       TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    data       TEXT    NOT NULL, -- a JSON object
    PRIMARY KEY (tenant_id, message_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE deliveries (
    tenant_id   INTEGER NOT NULL,
    delivery_id TEXT    NOT NULL,
    webhook_id  TEXT    NOT NULL,
    message_id  TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    state       INTEGER NOT NULL, -- enum delivery_state
    attempts    INTEGER NOT NULL,
    next_at     INTEGER,          -- when to try (again); NULL: no more
    last_at     INTEGER,
    last_status INTEGER,          -- of HTTP
    last_ms     INTEGER,
    last_error  TEXT,
    PRIMARY KEY (tenant_id, delivery_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX deliveries_due ON deliveries (tenant_id, webhook_id, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX deliveries_log ON deliveries (tenant_id, webhook_id, delivery_id);
CREATE INDEX deliveries_old ON deliveries (created_at);

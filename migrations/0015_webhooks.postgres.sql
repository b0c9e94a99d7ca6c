-- Webhooks, the messages for them, and each message's delivery to each webhook. Times are
-- microseconds since 1970, UTC. delivery_id begins with its time, so that ids grow with time.

CREATE TABLE webhooks (
    tenant_id     BIGINT NOT NULL,
    webhook_id    TEXT    NOT NULL,
    url           TEXT    NOT NULL,
    format        SMALLINT NOT NULL, -- enum webhook_format
    types         TEXT    NOT NULL, -- separated by commas; empty: all
    label         TEXT    NOT NULL,
    enabled       SMALLINT NOT NULL,
    created_at    BIGINT NOT NULL,
    secret        BYTEA    NOT NULL, -- sealed
    old_secret    BYTEA,             -- signs too until old_until
    old_until     BIGINT,
    PRIMARY KEY (tenant_id, webhook_id)
);

CREATE TABLE messages (
    tenant_id  BIGINT NOT NULL,
    message_id TEXT    NOT NULL,
    type       TEXT    NOT NULL,
    created_at BIGINT NOT NULL,
    data       TEXT    NOT NULL, -- a JSON object
    PRIMARY KEY (tenant_id, message_id)
);

CREATE TABLE deliveries (
    tenant_id   BIGINT NOT NULL,
    delivery_id TEXT COLLATE "C" NOT NULL,
    webhook_id  TEXT    NOT NULL,
    message_id  TEXT    NOT NULL,
    created_at  BIGINT NOT NULL,
    state       SMALLINT NOT NULL, -- enum delivery_state
    attempts    BIGINT NOT NULL,
    next_at     BIGINT,          -- when to try (again); NULL: no more
    last_at     BIGINT,
    last_status BIGINT,          -- of HTTP
    last_ms     BIGINT,
    last_error  TEXT,
    PRIMARY KEY (tenant_id, delivery_id)
);

CREATE INDEX deliveries_due ON deliveries (tenant_id, webhook_id, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX deliveries_log ON deliveries (tenant_id, webhook_id, delivery_id);
CREATE INDEX deliveries_old ON deliveries (created_at);

-- The vault: data keys wrapped by the master key, which is not in here, and what they seal.
-- Tenant 0 is the platform, whose own data key is also what rotations are ordered by.

CREATE TABLE data_keys (
    tenant_id  BIGINT  NOT NULL,
    version    BIGINT  NOT NULL,
    wrapped    BYTEA   NOT NULL, -- nonce, ciphertext, tag
    created_at BIGINT  NOT NULL,
    PRIMARY KEY (tenant_id, version)
);

CREATE TABLE secrets (
    tenant_id  BIGINT  NOT NULL,
    name       TEXT    NOT NULL,
    shared     BIGINT  NOT NULL, -- may workspace-wide values refer to it
    version    BIGINT  NOT NULL,
    sealed     BYTEA   NOT NULL, -- bound to tenant, name and version
    created_at BIGINT  NOT NULL,
    updated_at BIGINT  NOT NULL,
    PRIMARY KEY (tenant_id, name)
);

-- The vault: data keys wrapped by the master key, which is not in here, and what they seal.
-- Tenant 0 is the platform, whose own data key is also what rotations are ordered by.

CREATE TABLE data_keys (
    tenant_id  INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    wrapped    BLOB    NOT NULL, -- nonce, ciphertext, tag
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE secrets (
    tenant_id  INTEGER NOT NULL,
    name       TEXT    NOT NULL,
    shared     INTEGER NOT NULL, -- may workspace-wide values refer to it
    version    INTEGER NOT NULL,
    sealed     BLOB    NOT NULL, -- bound to tenant, name and version
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, name)
) STRICT;

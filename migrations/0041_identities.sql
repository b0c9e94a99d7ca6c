-- Who a person at an identity provider is here, and which of the provider's groups have which role.

CREATE TABLE user_identities (
    issuer        TEXT    NOT NULL,
    subject       TEXT    NOT NULL,
    user_id       TEXT    NOT NULL,
    created_at    INTEGER NOT NULL,
    last_login_at INTEGER,
    PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX user_identities_user ON user_identities (user_id);

CREATE TABLE oidc_groups (
    tenant_id  INTEGER NOT NULL,  -- 0: the platform
    group_name TEXT    NOT NULL,
    group_id   TEXT    NOT NULL,
    role       INTEGER NOT NULL,  -- in the tenant; of the platform: always platform_admin
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, group_name)
) STRICT, WITHOUT ROWID;

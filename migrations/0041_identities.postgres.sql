-- Who a person at an identity provider is here, and which of the provider's groups have which role.

CREATE TABLE user_identities (
    issuer        TEXT    NOT NULL,
    subject       TEXT    NOT NULL,
    user_id       TEXT    NOT NULL,
    created_at    BIGINT NOT NULL,
    last_login_at BIGINT,
    PRIMARY KEY (issuer, subject)
);
CREATE INDEX user_identities_user ON user_identities (user_id);

CREATE TABLE oidc_groups (
    tenant_id  BIGINT NOT NULL,  -- 0: the platform
    group_name TEXT    NOT NULL,
    group_id   TEXT    NOT NULL,
    role       BIGINT NOT NULL,  -- in the tenant; of the platform: always platform_admin
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, group_name)
);

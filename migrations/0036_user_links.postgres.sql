-- Links by which a person chooses their own password: invitations, and resets of a password. Used and
-- revoked ones stay for a while, to say so to those who open them. They belong to the platform, as
-- users do.

CREATE TABLE user_links (
    link_id       TEXT    PRIMARY KEY,      -- lnk_…: public
    digest        BYTEA   NOT NULL UNIQUE,  -- SHA-256 of the link's token, which is stored nowhere
    kind          BIGINT  NOT NULL,         -- enum link_kind
    state         BIGINT  NOT NULL,         -- enum link_state
    tenant_id     BIGINT  NOT NULL,         -- the tenant that invites; 0: the platform
    email         TEXT    NOT NULL,
    platform_role BIGINT  NOT NULL,
    made_by       TEXT    NOT NULL,         -- e-mail address, or operator
    created_at    BIGINT  NOT NULL,
    expires_at    BIGINT  NOT NULL
);

CREATE INDEX user_links_tenant ON user_links (tenant_id, created_at);
CREATE INDEX user_links_email ON user_links (email);
CREATE INDEX user_links_created ON user_links (created_at);

-- The roles that an invitation gives.
CREATE TABLE user_link_roles (
    tenant_id BIGINT  NOT NULL,
    link_id   TEXT    NOT NULL,
    role      BIGINT  NOT NULL,             -- enum tenant_role
    PRIMARY KEY (tenant_id, link_id)
);

CREATE INDEX user_link_roles_link ON user_link_roles (link_id);

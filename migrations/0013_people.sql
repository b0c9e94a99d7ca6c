-- People: users, their roles in tenants, and who is logged in. Times are microseconds since 1970,
-- UTC. Users and sessions belong to the platform, as tenants do: small tables, whole on every node.

CREATE TABLE users (
    user_id       TEXT    PRIMARY KEY,      -- user_…: public
    email         TEXT    NOT NULL UNIQUE,  -- trimmed, in small letters
    password      TEXT    NOT NULL,         -- argon2id with its parameters and salt
    platform_role INTEGER NOT NULL,         -- enum platform_role
    created_at    INTEGER NOT NULL,
    last_login_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE user_roles (
    tenant_id INTEGER NOT NULL REFERENCES tenants,
    user_id   TEXT    NOT NULL,
    role      INTEGER NOT NULL,             -- enum tenant_role
    PRIMARY KEY (tenant_id, user_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX user_roles_user ON user_roles (user_id, tenant_id);

CREATE TABLE sessions (
    digest       BLOB    PRIMARY KEY,       -- SHA-256 of the cookie, which is stored nowhere
    user_id      TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL           -- up to a minute late
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_user ON sessions (user_id, created_at);

INSERT INTO change_numbers (topic, number) VALUES ('people', 1);

-- Second factors of users, and codes for when the app is lost. They belong to the platform, as users do.

CREATE TABLE user_factors (
    user_id      TEXT    PRIMARY KEY,
    sealed       BYTEA   NOT NULL,  -- the key, sealed by the vault
    active       BIGINT NOT NULL,  -- 0: not confirmed by a code yet
    used_step    BIGINT NOT NULL,  -- of the last code that was used: none before it is accepted
    created_at   BIGINT NOT NULL,
    confirmed_at BIGINT
);

CREATE TABLE recovery_codes (
    user_id TEXT NOT NULL,
    digest  BYTEA NOT NULL,         -- keyed by the vault; the code is stored nowhere
    PRIMARY KEY (user_id, digest)
);

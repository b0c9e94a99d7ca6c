-- Second factors of users, and codes for when the app is lost. They belong to the platform, as users do.

CREATE TABLE user_factors (
    user_id      TEXT    PRIMARY KEY,
    sealed       BLOB    NOT NULL,  -- the key, sealed by the vault
    active       INTEGER NOT NULL,  -- 0: not confirmed by a code yet
    used_step    INTEGER NOT NULL,  -- of the last code that was used: none before it is accepted
    created_at   INTEGER NOT NULL,
    confirmed_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE recovery_codes (
    user_id TEXT NOT NULL,
    digest  BLOB NOT NULL,          -- keyed by the vault; the code is stored nowhere
    PRIMARY KEY (user_id, digest)
) STRICT, WITHOUT ROWID;

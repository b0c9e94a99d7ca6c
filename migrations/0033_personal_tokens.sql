-- Tokens with which users reach the API without a browser. They belong to the platform, as users do.

CREATE TABLE personal_tokens (
    token_id   TEXT    PRIMARY KEY,      -- pat_…: public
    digest     BLOB    NOT NULL UNIQUE,  -- SHA-256 of the token, which is stored nowhere
    user_id    TEXT    NOT NULL,
    name       TEXT    NOT NULL,         -- what it is for
    role       INTEGER NOT NULL,         -- enum token_role: what the user may do with it at most
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX personal_tokens_user ON personal_tokens (user_id, created_at);

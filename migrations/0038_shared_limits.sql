-- What processes let through of each rate limit and which sign-ins failed, so that a restart forgets
-- neither.

CREATE TABLE rate_windows (
    name     TEXT    NOT NULL,  -- of the window: a digest of whose it is
    node     TEXT    NOT NULL,  -- the process that counted; it alone changes the row
    counts   TEXT    NOT NULL,  -- a second, then how many in it and in those after it
    saved_at INTEGER NOT NULL,
    PRIMARY KEY (name, node)
) STRICT, WITHOUT ROWID;

CREATE TABLE nodes (
    node     TEXT    NOT NULL PRIMARY KEY,
    seen_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sign_in_failures (
    about      BLOB    NOT NULL,  -- a digest of an account, an address, or both
    attempt    TEXT    NOT NULL,
    failed_at  INTEGER NOT NULL,
    PRIMARY KEY (about, attempt)
) STRICT, WITHOUT ROWID;

CREATE INDEX sign_in_failures_at ON sign_in_failures (failed_at);

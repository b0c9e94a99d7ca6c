-- What processes let through of each rate limit and which sign-ins failed, so that several of them
-- keep one limit, and a restart forgets neither.

-- Not logged: a commit of these alone waits for no disk and no standby. Windows are empty after a
-- crash of the server.
CREATE UNLOGGED TABLE rate_windows (
    name     TEXT   COLLATE "C" NOT NULL,  -- of the window: a digest of whose it is
    node     TEXT   COLLATE "C" NOT NULL,  -- the process that counted; it alone changes the row
    counts   TEXT   NOT NULL,  -- a second, then how many in it and in those after it
    saved_at BIGINT NOT NULL,
    PRIMARY KEY (name, node)
) WITH (fillfactor = 50);

CREATE UNLOGGED TABLE nodes (
    node     TEXT   PRIMARY KEY,
    seen_at  BIGINT NOT NULL
);

CREATE TABLE sign_in_failures (
    about      BYTEA  NOT NULL,  -- a digest of an account, an address, or both
    attempt    TEXT   NOT NULL,
    failed_at  BIGINT NOT NULL,
    PRIMARY KEY (about, attempt)
);

CREATE INDEX sign_in_failures_at ON sign_in_failures (failed_at);

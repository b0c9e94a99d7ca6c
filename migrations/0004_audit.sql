-- The audit log: a chain of rows for each tenant and one for the platform (tenant_id 0). Each row's
-- hash covers the row and the hash before it; the head tells where a chain ends, so that a row
-- missing at its end is noticed too.

CREATE TABLE audit_log (
    tenant_id INTEGER NOT NULL,
    seq       INTEGER NOT NULL, -- 1, 2, 3 … without a gap
    at        INTEGER NOT NULL,
    actor     TEXT    NOT NULL,
    action    TEXT    NOT NULL,
    target    TEXT    NOT NULL,
    origin    TEXT    NOT NULL,
    detail    TEXT,             -- a JSON object
    hash      BLOB    NOT NULL,
    PRIMARY KEY (tenant_id, seq)
) STRICT;

CREATE TABLE audit_heads (
    tenant_id INTEGER PRIMARY KEY,
    seq       INTEGER NOT NULL,
    hash      BLOB    NOT NULL
) STRICT;

-- What models cost, for the whole platform. Amounts are attodollars for a token: 12 decimals of
-- dollars for a million tokens. Times are microseconds since 1970, UTC.

CREATE TABLE prices (
    price_id             INTEGER PRIMARY KEY AUTOINCREMENT, -- a deleted one's is not used again
    model                TEXT    NOT NULL,
    provider             TEXT    NOT NULL,
    input                INTEGER NOT NULL,
    output               INTEGER NOT NULL,
    cache_read           INTEGER,          -- NULL: as input
    cache_write          INTEGER,
    input_includes_cache INTEGER NOT NULL,
    valid_from           INTEGER NOT NULL, -- the least of all numbers: since ever
    aliases              TEXT    NOT NULL, -- a JSON array
    updated_at           INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX prices_model ON prices (model, valid_from);

INSERT INTO change_numbers (topic, number) VALUES ('prices', 1);

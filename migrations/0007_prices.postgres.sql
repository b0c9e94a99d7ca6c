-- What models cost, for the whole platform (in Citus: a reference table). Amounts are attodollars
-- for a token: 12 decimals of dollars for a million tokens. Times are microseconds since 1970, UTC.

CREATE TABLE prices (
    price_id             BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    model                TEXT    NOT NULL,
    provider             TEXT    NOT NULL,
    input                BIGINT  NOT NULL,
    output               BIGINT  NOT NULL,
    cache_read           BIGINT,           -- NULL: as input
    cache_write          BIGINT,
    input_includes_cache BIGINT  NOT NULL,
    valid_from           BIGINT  NOT NULL, -- the least of all numbers: since ever
    aliases              TEXT    NOT NULL, -- a JSON array
    updated_at           BIGINT  NOT NULL
);

CREATE UNIQUE INDEX prices_model ON prices (model, valid_from);

INSERT INTO change_numbers (topic, number) VALUES ('prices', 1);

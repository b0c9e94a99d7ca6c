-- Sums of LLM usage, kept in the transaction that stores it: for each hour and each day of an agent
-- and a model. What is not uniform in price, or lies across the edge of a range, is read from
-- smaller sums or from llm_usage itself. Times are microseconds since 1970, UTC.

CREATE TABLE llm_totals (
    tenant_id          INTEGER NOT NULL,
    width              INTEGER NOT NULL, -- 0: an hour, 1: a day
    start              INTEGER NOT NULL,
    agent_id           INTEGER NOT NULL,
    model              TEXT    NOT NULL,
    n_rows             INTEGER NOT NULL,
    n_large            INTEGER NOT NULL, -- of them too large for these sums, and not in them
    first_at           INTEGER NOT NULL, -- the least timestamp, or less
    last_at            INTEGER NOT NULL, -- the greatest, or more
    input_tokens       INTEGER NOT NULL,
    output_tokens      INTEGER NOT NULL,
    cache_read_tokens  INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    calls              INTEGER NOT NULL,
    fresh_tokens       INTEGER NOT NULL, -- input without cached ones, where it can hold them
    PRIMARY KEY (tenant_id, width, start, agent_id, model)
) STRICT, WITHOUT ROWID;

CREATE TEMP TABLE widths (width INTEGER, us INTEGER);
INSERT INTO widths VALUES (0, 3600000000), (1, 86400000000);

INSERT INTO llm_totals
SELECT tenant_id, width, timestamp - ((timestamp % us) + us) % us, agent_id, model, COUNT(*),
       SUM(large), MIN(timestamp), MAX(timestamp),
       SUM(CASE WHEN large = 1 THEN 0 ELSE input_tokens END),
       SUM(CASE WHEN large = 1 THEN 0 ELSE output_tokens END),
       SUM(CASE WHEN large = 1 THEN 0 ELSE cache_read_tokens END),
       SUM(CASE WHEN large = 1 THEN 0 ELSE cache_write_tokens END),
       SUM(CASE WHEN large = 1 THEN 0 ELSE calls END),
       SUM(CASE WHEN large = 1 THEN 0
                WHEN input_tokens < cache_read_tokens + cache_write_tokens THEN input_tokens
                ELSE input_tokens - cache_read_tokens - cache_write_tokens END)
FROM (SELECT *, CASE WHEN input_tokens BETWEEN -68719476736 AND 68719476736
                      AND output_tokens BETWEEN -68719476736 AND 68719476736
                      AND cache_read_tokens BETWEEN -68719476736 AND 68719476736
                      AND cache_write_tokens BETWEEN -68719476736 AND 68719476736
                      AND calls BETWEEN -68719476736 AND 68719476736 THEN 0 ELSE 1 END AS large
      FROM llm_usage) CROSS JOIN widths
GROUP BY 1, 2, 3, 4, 5;

DROP TABLE widths;

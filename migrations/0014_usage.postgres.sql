-- Sums of LLM usage, kept in the transaction that stores it: for each hour and each day of an agent
-- and a model. What is not uniform in price, or lies across the edge of a range, is read from
-- smaller sums or from llm_usage itself. Times are microseconds since 1970, UTC.

CREATE TABLE llm_totals (
    tenant_id          BIGINT NOT NULL,
    width              BIGINT NOT NULL, -- 0: an hour, 1: a day
    start              BIGINT NOT NULL,
    agent_id           BIGINT NOT NULL,
    model              TEXT   NOT NULL,
    n_rows             BIGINT NOT NULL,
    n_large            BIGINT NOT NULL, -- of them too large for these sums, and not in them
    first_at           BIGINT NOT NULL, -- the least timestamp, or less
    last_at            BIGINT NOT NULL, -- the greatest, or more
    input_tokens       BIGINT NOT NULL,
    output_tokens      BIGINT NOT NULL,
    cache_read_tokens  BIGINT NOT NULL,
    cache_write_tokens BIGINT NOT NULL,
    calls              BIGINT NOT NULL,
    fresh_tokens       BIGINT NOT NULL, -- input without cached ones, where it can hold them
    PRIMARY KEY (tenant_id, width, start, agent_id, model)
);

CREATE TEMPORARY TABLE widths (width BIGINT, us BIGINT) ON COMMIT DROP;
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
      FROM llm_usage) AS usage CROSS JOIN widths
GROUP BY 1, 2, 3, 4, 5;

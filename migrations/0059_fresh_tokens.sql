-- Input tokens without the cached ones, of a report that says whether its input includes them; NULL:
-- the price says it. Outside the row's checksum, as every column that came after it.

ALTER TABLE llm_usage ADD COLUMN fresh_tokens INTEGER;

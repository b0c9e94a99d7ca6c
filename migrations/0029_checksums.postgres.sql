-- A checksum of what each row says (db/row_sum.h); NULL in rows stored before this, or by a program
-- that does not know of it yet.

ALTER TABLE events ADD COLUMN checksum BIGINT;
ALTER TABLE business_runs ADD COLUMN checksum BIGINT;
ALTER TABLE business_values ADD COLUMN checksum BIGINT;
ALTER TABLE business_breakdowns ADD COLUMN checksum BIGINT;
ALTER TABLE llm_usage ADD COLUMN checksum BIGINT;

-- A checksum of what each row says (db/row_sum.h); NULL in rows stored before this. Rows with a
-- greater number than those below have one.

ALTER TABLE events ADD COLUMN checksum INTEGER;
ALTER TABLE business_runs ADD COLUMN checksum INTEGER;
ALTER TABLE business_values ADD COLUMN checksum INTEGER;
ALTER TABLE business_breakdowns ADD COLUMN checksum INTEGER;
ALTER TABLE llm_usage ADD COLUMN checksum INTEGER;

INSERT INTO change_numbers (topic, number) VALUES
    ('event_no_without_sum', (SELECT COALESCE(MAX(event_no), 0) FROM events)),
    ('business_run_no_without_sum', (SELECT COALESCE(MAX(run_no), 0) FROM business_runs)),
    ('breakdown_no_without_sum', (SELECT COALESCE(MAX(breakdown_no), 0) FROM business_breakdowns));

-- An agent that people removed: its reports stay readable under its name, and it is no more listed nor
-- counted until it reports or registers again.

ALTER TABLE agents ADD COLUMN deleted_at BIGINT; -- NULL: it is there

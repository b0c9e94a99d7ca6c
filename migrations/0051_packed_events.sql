-- Which program a node runs, by its last migration: what older ones cannot read is not written while
-- they run. 0: one from before this. Rows of events are packed since 0049.

ALTER TABLE nodes ADD COLUMN knows INTEGER NOT NULL DEFAULT 0;

-- A mark is a place among the runs, by start and id: many may have begun at one time.

ALTER TABLE stuck_marks ADD COLUMN run_id TEXT NOT NULL DEFAULT '';

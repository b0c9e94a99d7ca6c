-- Keys that read what a workspace key reads and report nothing.

ALTER TABLE keys ADD COLUMN read_only SMALLINT NOT NULL DEFAULT 0; -- 1: never bound to an agent

-- Keys that follow another. The old one stays good for a while after its first rotation; a successor
-- that nobody used is replaced when the old one is rotated again.

ALTER TABLE keys ADD COLUMN predecessor TEXT;      -- the key_id it was made from; NULL: made by people
ALTER TABLE keys ADD COLUMN rotated_at INTEGER;    -- the first time; NULL: never
ALTER TABLE keys ADD COLUMN first_used_at INTEGER; -- of a successor

CREATE INDEX keys_predecessor ON keys (tenant_id, predecessor);

-- What a process must load again is what has changed since it last looked: rows carry the change number
-- of their last change that matters to the registry. All keys that were made from one another by
-- rotation are a line, which is named after its first key; rotations are counted per line.

ALTER TABLE tenants ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE keys ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE keys ADD COLUMN line TEXT; -- NULL: its own key_id

CREATE INDEX tenants_changed ON tenants (changed);
CREATE INDEX keys_changed ON keys (changed);
CREATE INDEX keys_line ON keys (tenant_id, line, created_at);
CREATE INDEX keys_created ON keys (tenant_id, created_at, key_id);

-- The number of the registry since which everything must be loaded.
INSERT INTO change_numbers (topic, number) VALUES ('registry_all', 0);

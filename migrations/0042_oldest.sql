-- Programs of two versions may share a database: the number of migrations that one must know to use what a
-- newer migration made. NULL: that migration itself.

ALTER TABLE schema_version ADD COLUMN oldest INTEGER;

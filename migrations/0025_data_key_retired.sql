-- When the last text sealed with an older data key was sealed with a newer one; it is destroyed some
-- seconds later, since a reader may still hold the old text.
ALTER TABLE data_keys ADD COLUMN retired_at INTEGER;

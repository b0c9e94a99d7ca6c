-- A tenant that is being deleted: its rows are erased a little at a time, its own row last. Its slug
-- is replaced at once, so that another tenant may have it.

ALTER TABLE tenants ADD COLUMN deleted_at BIGINT; -- NULL: it is there

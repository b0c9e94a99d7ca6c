-- Up to where a chain of the audit log is signed with a key that is not in the database. NULL: not
-- signed yet. unsigned_entries counts those that were written without the key and signed later.
ALTER TABLE audit_heads ADD COLUMN signed_seq INTEGER NOT NULL DEFAULT 0;
ALTER TABLE audit_heads ADD COLUMN signed_hash BLOB;
ALTER TABLE audit_heads ADD COLUMN unsigned_entries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE audit_heads ADD COLUMN signature BLOB;

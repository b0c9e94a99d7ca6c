-- A node that starts loads the keys in use in portions, in the order of keys_walked, and those that were
-- rotated a short time ago. One that is asked for meanwhile is looked for by its digest. The indexes are built
-- while keys are made and rotated; one that was not finished is dropped first.

DROP INDEX CONCURRENTLY IF EXISTS keys_walked;
CREATE INDEX CONCURRENTLY keys_walked ON keys (tenant_id, key_id)
    WHERE revoked_at IS NULL AND rotated_at IS NULL;
DROP INDEX CONCURRENTLY IF EXISTS keys_rotated;
CREATE INDEX CONCURRENTLY keys_rotated ON keys (rotated_at)
    WHERE revoked_at IS NULL AND rotated_at IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS keys_by_digest;
CREATE INDEX CONCURRENTLY keys_by_digest ON keys (digest);

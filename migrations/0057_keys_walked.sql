-- A node that starts loads the keys in use in portions, in the order of keys_walked, and those that were
-- rotated a short time ago. One that is asked for meanwhile is looked for by its digest.

CREATE INDEX keys_walked ON keys (tenant_id, key_id) WHERE revoked_at IS NULL AND rotated_at IS NULL;
CREATE INDEX keys_rotated ON keys (rotated_at) WHERE revoked_at IS NULL AND rotated_at IS NOT NULL;
CREATE INDEX keys_by_digest ON keys (digest);

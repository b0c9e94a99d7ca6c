-- 0032: what a tenant's keys are counted by, without those that ended. One text for both databases.
CREATE INDEX keys_in_use ON keys (tenant_id) WHERE revoked_at IS NULL AND rotated_at IS NULL;

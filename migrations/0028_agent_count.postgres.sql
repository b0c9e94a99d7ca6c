-- How many agents a tenant has, so that the plan's cap is compared without counting their rows.

ALTER TABLE tenants ADD COLUMN agents BIGINT NOT NULL DEFAULT 0;

UPDATE tenants SET agents =
    (SELECT COUNT(*) FROM agents a WHERE a.tenant_id = tenants.tenant_id AND a.deleted_at IS NULL);

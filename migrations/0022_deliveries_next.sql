-- What is due next is found without reading all that waits.

CREATE INDEX deliveries_next ON deliveries (next_at, tenant_id, webhook_id) WHERE next_at IS NOT NULL;

-- What is old is found without reading the rest: a message by its time, its deliveries by it.

CREATE INDEX messages_old ON messages (created_at);
CREATE INDEX deliveries_message ON deliveries (tenant_id, message_id);

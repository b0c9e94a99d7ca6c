-- When a report replaces the last or the greatest value of an hour, the next one is found at the end
-- of an index, however many values the hour has.
-- The hour of a timestamp counts from a time before the year 1, since integer division truncates.

DROP INDEX business_values_time;
CREATE INDEX business_values_time
    ON business_values (tenant_id, key, agent_id, timestamp, received_at, run_no);

CREATE INDEX business_values_integer
    ON business_values (tenant_id, key, agent_id, ((timestamp + 63072000000000000) / 3600000000),
                        integer_value)
    WHERE integer_value IS NOT NULL;

CREATE INDEX business_values_real
    ON business_values (tenant_id, key, agent_id, ((timestamp + 63072000000000000) / 3600000000),
                        real_value)
    WHERE real_value IS NOT NULL;

-- A message is stored with the change that it reports; its deliveries follow in steps, since a
-- tenant may have 100 webhooks and report 1,000 failed runs at once.
ALTER TABLE messages ADD COLUMN pending INTEGER NOT NULL DEFAULT 0; -- 1: without its deliveries yet

CREATE INDEX messages_pending ON messages (tenant_id, created_at, message_id) WHERE pending = 1;

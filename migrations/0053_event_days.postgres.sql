-- Of which days the events are that arrived in a day: an export by time leaves out what has none of its days
-- (features/events/event_days.h). A row covers the tenant's events from its first_no to the next row's.

CREATE TABLE event_days (
    tenant_id BIGINT  NOT NULL,
    first_no  BIGINT  NOT NULL,
    day       INTEGER NOT NULL, -- since 1970
    lags      BIGINT  NOT NULL, -- a bit for each distance of a timestamp from that day
    PRIMARY KEY (tenant_id, first_no)
);

-- The number of an event from which on all are covered; 0: it is not known. In a new database, all are.
INSERT INTO change_numbers (topic, number)
SELECT 'event_days', CASE WHEN EXISTS (SELECT 1 FROM tenants) OR EXISTS (SELECT 1 FROM nodes)
                     THEN 0 ELSE 1 END
ON CONFLICT (topic) DO NOTHING;

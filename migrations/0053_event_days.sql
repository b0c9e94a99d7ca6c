-- Of which days the events are that arrived in about a day: an export by time leaves out what has none of its
-- days (features/events/event_days.h). A row covers the tenant's events from its first_no to the next
-- row's.

CREATE TABLE event_days (
    tenant_id INTEGER NOT NULL,
    first_no  INTEGER NOT NULL,
    day       INTEGER NOT NULL, -- since 1970
    lags      INTEGER NOT NULL, -- a bit for each distance of a timestamp from that day
    PRIMARY KEY (tenant_id, first_no)
) STRICT, WITHOUT ROWID;

-- The number of an event from which on all are covered; 0: it is not known.
INSERT INTO change_numbers (topic, number) VALUES ('event_days', 0);

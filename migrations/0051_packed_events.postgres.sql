-- Events in fewer bytes. Rows from before stay as they are, and their columns say everything. In others
-- a column may be NULL, and then
--   event_id is event_key, as text;
--   received_at is timestamp + received_after;
--   event, agent_version, level, category and source are those of the row in event_kinds;
--   and metadata and metrics are the values in the forms of that row, if it has forms.
-- Programs from before cannot read such rows. So they are written when no such program has run for a day
-- (features/events/kinds/packing.h), or at once in a new database.

CREATE TABLE event_kinds ( -- what many events of a tenant have in common
    tenant_id     BIGINT   NOT NULL,
    kind_no       INTEGER  NOT NULL, -- a hash of the rest
    bytes         INTEGER  NOT NULL, -- of an event's texts that are here
    event         SMALLINT NOT NULL,
    agent_version TEXT     NOT NULL,
    level         TEXT     NOT NULL,
    category      TEXT     NOT NULL,
    source        TEXT     NOT NULL,
    metadata      TEXT,              -- with %s for each value; NULL: the event has all of it
    metrics       TEXT,
    PRIMARY KEY (tenant_id, kind_no)
);

ALTER TABLE events ADD COLUMN kind_no        INTEGER;
ALTER TABLE events ADD COLUMN received_after INTEGER; -- microseconds
ALTER TABLE events ADD COLUMN event_key      UUID;    -- the event's id, if it is a UUID

ALTER TABLE events ALTER COLUMN event_id      DROP NOT NULL;
ALTER TABLE events ALTER COLUMN event         DROP NOT NULL;
ALTER TABLE events ALTER COLUMN received_at   DROP NOT NULL;
ALTER TABLE events ALTER COLUMN agent_version DROP NOT NULL;
ALTER TABLE events ALTER COLUMN level         DROP NOT NULL;
ALTER TABLE events ALTER COLUMN category      DROP NOT NULL;
ALTER TABLE events ALTER COLUMN source        DROP NOT NULL;

-- Which program a node runs, by its last migration; 0: one from before this.
ALTER TABLE nodes ADD COLUMN knows INTEGER NOT NULL DEFAULT 0;

INSERT INTO change_numbers (topic, number) -- see features/events/kinds/packing.c
SELECT 'packed_events', CASE WHEN EXISTS (SELECT 1 FROM tenants) OR EXISTS (SELECT 1 FROM nodes)
                        THEN 0 ELSE 1 END
ON CONFLICT (topic) DO NOTHING;
INSERT INTO change_numbers (topic, number)
VALUES ('events_without_older', 0), ('events_looked', 0)
ON CONFLICT (topic) DO NOTHING;

-- Events in fewer bytes. Rows from before stay as they are: kind_no is NULL in them, and their
-- columns say everything. In all others
--   received_at is the difference from timestamp;
--   packed_id has the 16 bytes of an event_id that is a UUID, and event_id is then '';
--   kind_no leads to the row with agent_version, level, category and source, which are then '';
--   0: they are in the event's own row.
-- oldest: 0049

CREATE TABLE event_kinds ( -- what many events of a tenant have in common
    kind_no       INTEGER PRIMARY KEY,
    tenant_id     INTEGER NOT NULL,
    bytes         INTEGER NOT NULL, -- of the four texts
    agent_version TEXT    NOT NULL,
    level         TEXT    NOT NULL,
    category      TEXT    NOT NULL,
    source        TEXT    NOT NULL
) STRICT;

ALTER TABLE events ADD COLUMN kind_no INTEGER;
ALTER TABLE events ADD COLUMN packed_id BLOB;

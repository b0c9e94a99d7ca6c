-- What the last changes of the registry were about, each in the slot of its number: an agent that was enabled,
-- disabled or deleted, or 0. A process that has loaded the changes up to a number looks up again the agents of
-- those that follow, and all agents when one of those is missing (features/access/tenants_store.h).

CREATE TABLE registry_changes (
    slot         INTEGER NOT NULL PRIMARY KEY,
    number       INTEGER NOT NULL,
    about_tenant INTEGER NOT NULL,
    about_agent  INTEGER NOT NULL
) STRICT;

/* heartbeats_store.h - processes that say they are alive, as rows. */
#pragma once
#include "base/err.h"
#include "base/str.h"

struct db;

struct heartbeat {
    int64_t tenant_id;
    struct str client_id; /* names a process; at most 256 characters */
    int64_t received_at;
};

/* Notes that the process is alive. The latest time stands, whichever comes last. */
int store_heartbeat_put(struct db *db, const struct heartbeat *beat, struct error *err) MUST_CHECK;

/* heartbeats_store.h - heartbeats of processes as rows. */
#pragma once
#include "base/err.h"
#include "base/str.h"

struct db;

struct heartbeat {
    int64_t tenant_id;
    struct str client_id; /* names a process; at most 256 characters */
    int64_t received_at;
};

/* Stores the heartbeat. The latest time is kept, in whatever order heartbeats arrive. A tenant has
 * at most 10,000 processes: a further one makes the oldest forgotten. */
int store_heartbeat_put(struct db *db, const struct heartbeat *beat, struct error *err) MUST_CHECK;

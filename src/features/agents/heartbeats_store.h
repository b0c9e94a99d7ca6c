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

/* Stores the heartbeat. The latest time is kept, in whatever order heartbeats arrive. */
int store_heartbeat_put(struct db *db, const struct heartbeat *beat, struct error *err) MUST_CHECK;

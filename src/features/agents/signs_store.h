/* signs_store.h - signs of life as rows: when agents were seen, and heartbeats of processes. */
#pragma once
#include "base/err.h"
#include "base/str.h"

struct db;
struct sighting;

/* Stores when the agents were seen. The latest time is kept, unless it is too far in the future.
 * Sorts the sightings. */
int sightings_put(struct db *db, struct sighting *sightings, size_t n, int64_t now,
                  struct error *err) MUST_CHECK;

struct heartbeat {
    int64_t tenant_id;
    struct str client_id; /* names a process; at most 256 characters */
    int64_t received_at;
};

/* Stores the heartbeat. The latest time is kept, in whatever order heartbeats arrive. A tenant has
 * at most 10,000 processes: a further one makes the oldest forgotten. */
int heartbeat_put(struct db *db, const struct heartbeat *beat, struct error *err) MUST_CHECK;

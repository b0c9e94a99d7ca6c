/* runs.h - reading runs.
 *
 * Layer: service. May use: base, contract, db, store. Must not use: http, api.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct db;
struct event_log;
struct run_narrative;
struct tenant_entry;

/* Which run of which tenant. */
struct run_key {
    const struct tenant_entry *tenant;
    struct str run_id;
};

/* The whole story of a run: its summary, and its events by seq, timestamp, arrival. In the arena.
 * ERR_NOT_FOUND when the tenant has no such run. */
int run_read(struct event_log *log, struct db *db, const struct run_key *key, struct arena *arena,
             struct run_narrative *ret, struct error *err) MUST_CHECK;

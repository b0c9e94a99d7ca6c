/* runs.h - reading runs. */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct db;
struct event_log;
struct run_list;
struct run_narrative;
struct runs_query;
struct stored_event;
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

/* A page of the tenant's runs, newest start first; in the arena. What one page costs is bounded: it
 * looks at 10,000 runs when they are filtered, and ends with the run whose steps take it beyond 16
 * MiB. So it may be shorter than asked for, and only a null `next` means that there are no more. */
int run_list_read(struct db *db, const struct tenant_entry *tenant, const struct runs_query *query,
                  struct arena *arena, struct run_list *ret, struct error *err) MUST_CHECK;

/* Was its timestamp over an hour ahead of our clock when it came? */
bool run_event_is_skewed(const struct stored_event *event);

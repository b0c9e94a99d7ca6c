/* runs.h - reads runs and their events. */
#pragma once
#include "base/arena.h"
#include "base/err.h"

struct db;
struct engine;
struct event_log;
struct narrative_query;
struct run_list;
struct run_narrative;
struct runs_query;
struct stored_event;
struct tenant_entry;

struct run_key {
    const struct tenant_entry *tenant;
    struct str run_id;
    const struct narrative_query *query; /* of run_read(): which of its events */
};

/* Says that the tenant has no such run. Always -1. */
int run_not_found(const struct run_key *key, struct error *err);

/* A run with its summary, and its events by seq, timestamp, arrival: a page of the query's limit,
 * or of 16 MiB. With a filter a page looks at 10,000 events at the most. In the arena.
 * ERR_NOT_FOUND when the tenant has no such run. */
int run_read(struct event_log *log, struct db *db, const struct run_key *key, struct arena *arena,
             struct run_narrative *ret, struct error *err) MUST_CHECK;

struct run_list_request {
    const struct engine *engine; /* whose features know what runs spent; not used without cost */
    const struct tenant_entry *tenant;
    const struct runs_query *query;
};

/* A page of the tenant's runs, newest start first; in the arena. The cost of a page is bounded:
 * with a filter it examines at most 10,000 runs, and it ends before the run that takes it beyond 16
 * MiB; of the first run it has the steps that fit. So it may be shorter than the limit, and only a
 * null `next` marks the last page. */
int run_list_read(struct db *db, const struct run_list_request *request, struct arena *arena,
                  struct run_list *ret, struct error *err) MUST_CHECK;

/* Was its timestamp more than an hour ahead of our clock on arrival? */
bool run_event_is_skewed(const struct stored_event *event);

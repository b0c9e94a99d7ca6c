/* run_timeline.h - when each category of a run was active, in few numbers however long it is. */
#pragma once
#include "base/arena.h"
#include "base/err.h"

struct db;
struct event_log;
struct run_key;
struct run_timeline;

/* Counts the first 200,000 events of the run that arrived, by category and 200 parts of its time;
 * in the arena. ERR_NOT_FOUND when the tenant has no such run. */
int run_timeline_read(struct event_log *log, struct db *db, const struct run_key *key,
                      struct arena *arena, struct run_timeline *ret, struct error *err) MUST_CHECK;

/* watch.h - a part of the alerts' tick as one const value: what opens and closes alerts, or deletes
 * them, when time passes.
 *
 * Each runs on one thread, the watcher's, and asks the writer for changes by jobs.
 */
#pragma once
#include <stdbool.h>

#include "engine/feature.h"

struct agent_cache;
struct budget_stops;
struct db;
struct prices;
struct readers;
struct writer;

/* Borrowed. */
struct watch_env {
    struct db *db; /* a reader, for each tick only */
    struct readers *readers;
    struct writer *writer;
    struct agent_cache *agents;
    struct prices *prices;
    struct budget_stops *stops;
    bool shared; /* other processes receive reports too, and store them a little later */
};

struct watch {
    const char *name;      /* in the log */
    bool without_database; /* it also ticks while the database does not answer */
    void *(*begin)(const struct watch_env *env, const struct tick *now);

    /* About once a second. `epoch_us` is silence_epoch_us(): reports may have been missed before.
     */
    int (*tick)(void *state, const struct tick *now, int64_t epoch_us, struct error *err);

    /* After the readers and the writer have stopped; NULL is fine. */
    void (*end)(void *state);
};

extern const struct watch silence_watch, stuck_watch, threshold_watch, failing_watch,
    due_messages_watch, closed_alerts_watch, budget_stops_watch;

/* Start of the current epoch, monotonic: no alert counts silence from before it. `state` is that of
 * silence_watch. */
int64_t silence_epoch_us(const void *state);

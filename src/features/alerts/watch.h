/* watch.h - a part of the alerts' tick as one const value: what opens and closes alerts, or deletes
 * them, when time passes.
 *
 * Each runs on one thread, the watcher's, and asks the writer for changes by a job, one at a time.
 */
#pragma once
#include "base/arena.h"
#include "base/lock.h"
#include "engine/feature.h"
#include "engine/writer.h"

struct agent_cache;
struct agent_model;
struct budget_stops;
struct prices;
struct readers;
struct watch;

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

/* What the state of every watch begins with. */
struct watching {
    struct watch_env env;
    const struct watch *watch;
    int64_t epoch_us;   /* silence_epoch_us(): reports may have been missed before */
    int64_t checked_us; /* raw: when find() was called last */

    struct writer_job
        job;            /* while `busy` it belongs to the writer, as does the rest of the state */
    struct arena arena; /* of what find() has found for the job */
    struct busy busy;
};

struct watch {
    const char *name; /* in the log */
    size_t size;      /* of its state, zeroed at first */
    int64_t period_s; /* between two calls of find() */

    void (*begin)(struct watching *w, const struct tick *now); /* NULL is fine */

    /* What is there to do? Sets w->job.events if there is something for apply(). */
    int (*find)(struct watching *w, const struct tick *now, struct error *err);

    /* In the writer's transaction; called again when that is retried. */
    int (*apply)(struct watching *w, struct txn *txn, struct error *err);

    /* After the job, or after a failure to submit it; NULL is fine: what was not done is found
     * again. */
    void (*done)(struct watching *w, const struct error *err);

    /* Instead of find(), of a watch that decides for itself; also while the database does not
     * answer. It uses `busy` for what it submits. */
    int (*tick)(struct watching *w, const struct tick *now, struct error *err);

    /* After the readers and the writer have stopped; NULL is fine. */
    void (*end)(struct watching *w);
};

extern const struct watch silence_watch, stuck_watch, threshold_watch, failing_watch,
    due_messages_watch, closed_alerts_watch, budget_stops_watch;

struct watching *watch_new(const struct watch *watch, const struct watch_env *env,
                           const struct tick *now);

/* NULL is fine. */
void watch_free(struct watching *w);

/* About once a second. */
int watch_tick(struct watching *w, const struct tick *now, int64_t epoch_us,
               struct error *err) MUST_CHECK;

/* Start of the current epoch, monotonic: no alert counts silence from before it. Of
 * silence_watch. */
int64_t silence_epoch_us(struct watching *w);

/* Stores one alert and one message for each run that the transaction's watched events mark as
 * failed, at most one per run, and one open alert for its agent. Call after the events are stored.
 */
int failures_alert(struct txn *txn, struct error *err) MUST_CHECK;

/* The hard budgets that are exceeded, in memory: an agent that asks for its model is told to stop
 * instead. A hard budget is in force while its alert is open and its period is not over. So a
 * restart does not lift it, and removing, pausing or raising the budget does, within seconds. The
 * service is not between agents and models: it can only answer what they ask, which they do before
 * every run. So nothing stops in the middle of its work, and reports are stored as ever.
 *
 * Loaded by budget_stops_watch every two seconds. Thread-safe. */
struct budget_stops *budget_stops_new(void);

/* NULL is fine. */
void budget_stops_free(struct budget_stops *s);

/* A directives_stop_fn; `stops` is a struct budget_stops. */
struct str budget_stops_find(void *stops, int64_t tenant_id, const struct agent_model *model,
                             struct arena *arena);

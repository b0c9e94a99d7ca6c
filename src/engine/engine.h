/* engine.h - the database, its threads and the features, started and stopped together.
 *
 * Opens and migrates the database, opens the features, starts the writer, the
 * readers and the watcher, starts the features and ticks them. The server and
 * the command line both run one. The engine knows no feature by name: it gets a
 * list.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "engine/feature.h"
#include "engine/writer.h"

struct budgets;
struct db;
struct engine;
struct feature;
struct reader_job;
struct readers;
struct settings;
struct space;

struct engine_options {
    const char *database;                  /* as for db_open() */
    const struct feature *const *features; /* ends in NULL */
    const struct settings *settings;       /* for the features; borrowed */
    struct budgets *budgets; /* borrowed; NULL: without limits but for tenants' shares of queues */
    bool serves;             /* a server, not a command */
    unsigned readers;        /* threads */
    size_t reads_max;        /* queued reads; beyond this ERR_BUSY */
    int64_t min_free_bytes;  /* as in space.h */
    struct writer_limits writer;
    int64_t log_max_bytes;                                /* see db_set_log_max() */
    void (*on_fatal)(void *ctx, const struct error *err); /* as in writer.h */
    void *ctx;
};

/* The caller owns *ret. On return of 0 everything that was durable before is readable. */
int engine_new(const struct engine_options *options, struct engine **ret,
               struct error *err) MUST_CHECK;

/* Commits what is queued, stops all threads, checkpoints the database. NULL is fine. */
void engine_free(struct engine *e);

/* The server begins to stop: requests under way no longer wait for other services. Then stop taking
 * requests, and engine_free(). */
void engine_leave(struct engine *e);

/* The state that the feature's open() created. Each feature wraps this in a typed function. */
void *engine_state(const struct engine *e, const struct feature *feature);

/* Reads the clocks. */
struct tick engine_now(const struct engine *e, bool healthy);

/* For features, from open() on. */
const struct settings *engine_settings(const struct engine *e);
/* The budgets of callers, with the limits of the service, its tenants, keys and addresses. */
struct budgets *engine_budgets(struct engine *e);

const char *engine_database(const struct engine *e);

/* A further connection that reads; the caller owns *ret. Any thread. */
int engine_open_reader(const struct engine *e, struct db **ret, struct error *err) MUST_CHECK;

bool engine_serves(const struct engine *e);

/* Does the listener receive the changes of other processes at the moment? Otherwise they are found
 * by polling. */
bool engine_listens(const struct engine *e);

/* Other processes change this database too: PostgreSQL. */
bool engine_is_shared(const struct engine *e);

/* A writer's connection; only in open(), before the writer uses it. */
struct db *engine_open_db(struct engine *e);

/* The watcher's connection: in start() and tick() only, but for what any thread may ask of one
 * (db/servers.h). */
struct db *engine_watch_db(struct engine *e);

/* From start() on. */
struct writer *engine_writer(struct engine *e);
struct readers *engine_readers(struct engine *e);

/* Caches that features keep in memory, by the changes that make them stale. */
enum change_topic {
    CHANGE_REGISTRY, /* tenants, keys, directives, agents */
    CHANGE_USERS,    /* users, roles, sessions */
    CHANGE_NOTHING,  /* what no cache holds */
    CHANGE_RUNS,     /* states of runs, cached by writers alone */
};
enum { CHANGE_TOPICS = CHANGE_NOTHING };

struct engine_cache {
    /* At the start of a change's transaction: increments the change number, so that other processes
     * reload, and changes in all processes run one at a time. */
    int (*bump)(struct db *db, struct error *err);

    /* Loads what has changed. Blocks: never call it on a loop thread. */
    int (*refresh)(struct engine *e, struct db *db, struct error *err);

    /* Should the next refresh follow at once, because more is left to load? NULL: never. */
    bool (*has_more)(const struct engine *e);
};

/* In open() only. */
void engine_set_cache(struct engine *e, enum change_topic topic, const struct engine_cache *cache);
const struct engine_cache *engine_cache(const struct engine *e, enum change_topic topic);

/* Any thread; see readers_submit(). */
int engine_read(struct engine *e, struct reader_job *job, struct error *err) MUST_CHECK;

/* Runs a short job at once on this thread; see readers_run_inline(). */
bool engine_read_inline(struct engine *e, struct reader_job *job) MUST_CHECK;

/* As engine_read(), for jobs that hash a password: one at a time, since each takes 64 MiB and some
 * time, and with a short queue. */
int engine_hash(struct engine *e, struct reader_job *job, struct error *err) MUST_CHECK;

/* The reason why a report cannot be stored now, as a sentence; NULL: it can. Any thread. */
const char *engine_problem(const struct engine *e);

/* Free space where the database is. Any thread. */
struct space *engine_space(struct engine *e);

/* Any thread. */
struct engine_stats {
    bool healthy;
    struct writer_queue queue;
    size_t reads_waiting;
};

void engine_stats(struct engine *e, struct engine_stats *ret);

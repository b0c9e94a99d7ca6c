/* engine.h - the database, the threads over it and the features, started and stopped as one.
 *
 * Opens and migrates the database, opens the features, starts the writer, the
 * readers and the watcher, starts the features and ticks them. The server and
 * the command line both run one. The engine knows no feature: it is given a list.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "engine/feature.h"
#include "engine/writer.h"

struct db;
struct engine;
struct feature;
struct reader_job;
struct readers;
struct settings;

struct engine_options {
    const char *database;                  /* as for db_open() */
    const struct feature *const *features; /* ends in NULL */
    const struct settings *settings;       /* for the features; borrowed */
    bool serves;                           /* a server, not a command */
    unsigned readers;                      /* threads */
    size_t reads_max;                      /* waiting reads; beyond it ERR_BUSY */
    struct writer_limits writer;
    void (*on_fatal)(void *ctx, const struct error *err); /* as in writer.h */
    void *ctx;
};

/* The caller owns *ret. On return of 0 everything that was durable before is readable. */
int engine_new(const struct engine_options *options, struct engine **ret,
               struct error *err) MUST_CHECK;

/* Commits what is queued, stops all threads, checkpoints the database. NULL is fine. */
void engine_free(struct engine *e);

/* What the feature's open() made. Each feature wraps it in a typed function of its own. */
void *engine_state(const struct engine *e, const struct feature *feature);

/* The clocks now. */
struct tick engine_now(const struct engine *e, bool healthy);

/* For features, from open() on. */
const struct settings *engine_settings(const struct engine *e);
const char *engine_database(const struct engine *e);
bool engine_serves(const struct engine *e);

/* Other processes change this database too: PostgreSQL. */
bool engine_is_shared(const struct engine *e);

/* A writer's connection; in open() only, before the writer has it. */
struct db *engine_open_db(struct engine *e);

/* The watcher's connection: in start() and tick() only. */
struct db *engine_watch_db(struct engine *e);

/* From start() on. */
struct writer *engine_writer(struct engine *e);
struct readers *engine_readers(struct engine *e);

/* Which of the caches that features keep in memory a change of the database makes stale. */
enum change_topic {
    CHANGE_REGISTRY, /* tenants, keys, directives */
    CHANGE_USERS,    /* users, roles, sessions */
    CHANGE_NOTHING,
};
enum { CHANGE_TOPICS = CHANGE_NOTHING };

struct engine_cache {
    /* In the transaction of a change: counts it, so that other processes load it. */
    int (*bump)(struct db *db, struct error *err);
    bool bumps_first; /* before the change and not after it: one at a time, in all processes */

    /* Loads what has changed. Blocks: never on a loop's thread. */
    int (*refresh)(struct engine *e, struct db *db, struct error *err);
};

/* In open() only. */
void engine_set_cache(struct engine *e, enum change_topic topic, const struct engine_cache *cache);
const struct engine_cache *engine_cache(const struct engine *e, enum change_topic topic);

/* Any thread; see readers_submit(). */
int engine_read(struct engine *e, struct reader_job *job, struct error *err) MUST_CHECK;

/* Runs it at once on this thread, if that is quickly done; see readers_run_inline(). */
bool engine_read_inline(struct engine *e, struct reader_job *job) MUST_CHECK;

/* As engine_read(), for what hashes a password: one at a time, since each takes 64 MiB and a while,
 * and with a short queue. */
int engine_hash(struct engine *e, struct reader_job *job, struct error *err) MUST_CHECK;

/* The database answers. Any thread. */
bool engine_is_healthy(const struct engine *e);

/* Any thread. */
struct engine_stats {
    bool healthy;
    size_t queue_events, queue_bytes, reads_waiting;
};

void engine_stats(struct engine *e, struct engine_stats *ret);

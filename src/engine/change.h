/* change.h - an administrative change: committed, then loaded into memory, then answered.
 *
 * The change runs on the writer in a transaction of its own, which also
 * increments the change number of its topic. Before it is reported as done, this
 * process's caches are refreshed, so that a new key or session is valid at once.
 */
#pragma once
#include "base/err.h"
#include "engine/engine.h"
#include "engine/readers.h"
#include "engine/writer.h"

struct db;
struct engine;

/* Filled in by the caller, in memory that lives until done(). */
struct change {
    struct writer_job write; /* internal, as is `read` */
    struct reader_job read;
    struct engine *engine;
    bool retried;            /* this is the retry after a full disk */
    enum change_topic topic; /* the cache that the change makes stale */
    int64_t asked_us;        /* as in struct writer_job, as are `budget` and `administrative` */
    struct budget *budget;
    bool administrative;

    /* Writer thread, in the transaction; may be called again after a rollback. */
    int (*apply)(struct change *change, struct db *db, struct error *err);

    /* Any thread, exactly once. `err` is NULL when durable, and borrowed otherwise. */
    void (*done)(struct change *change, const struct error *err);
};

/* Any thread. ERR_BUSY when the queue is full; done() is then not called. */
int change_submit(struct engine *engine, struct change *change, struct error *err) MUST_CHECK;

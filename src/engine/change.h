/* change.h - an administrative change: committed, then known here, then answered.
 *
 * The change runs on the writer in a transaction of its own together with the
 * change number of its topic; before it is reported as done, this process's own
 * memory has it, so that a key or session just made is good at once.
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
    struct writer_job write; /* the change's own, as is `read` */
    struct reader_job read;
    struct engine *engine;
    enum change_topic topic; /* what the change makes stale */

    /* Writer thread, in the transaction; may be called again after a roll-back. */
    int (*apply)(struct change *change, struct db *db, struct error *err);

    /* Some thread, exactly once. `err` is NULL when durable, and borrowed otherwise. */
    void (*done)(struct change *change, const struct error *err);
};

/* Any thread. ERR_BUSY when too much is waiting; done() is then not called. */
int change_submit(struct engine *engine, struct change *change, struct error *err) MUST_CHECK;

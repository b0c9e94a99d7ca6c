/* change.c - the two steps of an administrative change. */
#include "engine/change.h"

#include <assert.h>

#include "db/db.h"
#include "engine/engine.h"
#include "engine/job.h"
#include "engine/space.h"
#include "engine/txn.h"

static struct job_cost change_cost = JOB_COST(3000);

/* Whether a feature of this process has a cache to refresh. */
static bool is_cached(const struct change *change)
{
    return (int)change->topic < CHANGE_TOPICS;
}

static int change_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct change *change = CONTAINER_OF(job, struct change, write);

    /* Once the increment is answered, no other change runs until the commit: what apply() reads
     * from the clock or the caches stays valid. */
    if (is_cached(change) &&
        (engine_cache(change->engine, change->topic)->bump(txn->db, err) != 0 ||
         db_settle(txn->db, err) != 0))
        return -1;
    return change->apply(change, txn->db, err);
}

static int change_refresh_run(struct reader_job *job, struct db *db, struct error *err)
{
    struct change *change = CONTAINER_OF(job, struct change, read);

    return engine_cache(change->engine, change->topic)->refresh(change->engine, db, err);
}

/* The change is durable even if the refresh failed; the watcher refreshes again within a second. */
static void change_refresh_done(struct reader_job *job, const struct error *err)
{
    struct change *change = CONTAINER_OF(job, struct change, read);

    (void)err;
    change->done(change, NULL);
}

static void change_committed(struct writer_job *job, const struct error *err)
{
    struct change *change = CONTAINER_OF(job, struct change, write);

    if (err != NULL && err->code == ERR_FULL && !change->retried) {
        change->retried = true; /* space_note_full() may release the reserve file for this retry */
        space_note_full(engine_space(change->engine));
        if (writer_submit(engine_writer(change->engine), job, NULL) == 0)
            return;
    }
    if (err != NULL || !is_cached(change)) {
        change->done(change, err);
        return;
    }
    change->read = (struct reader_job){ .asked_us = change->asked_us,
                                        .run = change_refresh_run,
                                        .done = change_refresh_done };
    if (engine_read(change->engine, &change->read, NULL) != 0)
        change->done(change, NULL);
}

int change_submit(struct engine *engine, struct change *change, struct error *err)
{
    assert(change->apply != NULL && change->done != NULL);
    change->engine = engine;
    change->retried = false;
    change->write = (struct writer_job){ .apply = change_apply,
                                         .done = change_committed,
                                         .asked_us = change->asked_us,
                                         .budget = change->budget,
                                         .cost = &change_cost,
                                         .events = 1,
                                         .administrative = change->administrative,
                                         .exclusive = true,
                                         .writes_first = is_cached(change),
                                         .keeps_caches = change->topic != CHANGE_RUNS };
    return writer_submit(engine_writer(engine), &change->write, err);
}

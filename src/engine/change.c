/* change.c - the two steps of an administrative change. */
#include "engine/change.h"

#include "engine/engine.h"
#include "features/access/registry.h"
#include "features/access/tenants_store.h"
#include "features/access/users/sessions.h"
#include "features/access/users/users_store.h"

static int apply(struct writer_job *job, struct db *db, struct error *err)
{
    struct change *change = CONTAINER_OF(job, struct change, write);

    if (change->topic == CHANGE_USERS && store_users_changed(db, err) != 0)
        return -1;
    if (change->apply(change, db, err) != 0)
        return -1;
    return change->topic == CHANGE_REGISTRY ? store_registry_changed(db, err) : 0;
}

static int refresh(struct reader_job *job, struct db *db, struct error *err)
{
    struct change *change = CONTAINER_OF(job, struct change, read);

    if (change->topic == CHANGE_USERS)
        return sessions_refresh(engine_sessions(change->engine), db, err);
    return registry_refresh(engine_registry(change->engine), db, err);
}

/* The change is durable whatever became of the refresh; the watcher does it again in a second. */
static void refreshed(struct reader_job *job, const struct error *err)
{
    struct change *change = CONTAINER_OF(job, struct change, read);

    (void)err;
    change->done(change, NULL);
}

static void committed(struct writer_job *job, const struct error *err)
{
    struct change *change = CONTAINER_OF(job, struct change, write);

    if (err != NULL || change->topic == CHANGE_NOTHING) {
        change->done(change, err);
        return;
    }
    change->read = (struct reader_job){ .run = refresh, .done = refreshed };
    if (engine_read(change->engine, &change->read, NULL) != 0)
        change->done(change, NULL);
}

int change_submit(struct engine *engine, struct change *change, struct error *err)
{
    change->engine = engine;
    change->write = (struct writer_job){ .apply = apply, .done = committed, .exclusive = true };
    return writer_submit(engine_writer(engine), &change->write, err);
}

/* exports.c - the threads that run exports. */
#include "features/export/exports.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/lock.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/thread.h"
#include "db/db.h"
#include "features/export/export_lines.h"

enum { NICENESS = 10 }; /* requests have priority */

struct slot {
    struct exports *exports;
    struct export_job *job;
    pthread_t thread;
    bool started; /* the thread must be joined */
    bool running;
};

struct exports {
    char *database;
    atomic_bool stopping;
    struct lock lock;
    struct slot slots[EXPORTS_MAX] GUARDED_BY(lock);
};

struct exports *exports_new(const char *database)
{
    struct exports *e = NEW(struct exports);

    e->database = mem_strdup(database);
    atomic_init(&e->stopping, false);
    lock_init(&e->lock);
    return e;
}

static int run_export(struct slot *slot, struct error *err)
{
    struct db *db;
    int r;

    if (db_open(slot->exports->database, DB_READER, &db, err) != 0)
        return -1;
    r = export_lines(slot->job, db, &slot->exports->stopping, err);
    db_close(db);
    return r;
}

static void *export_thread(void *arg)
{
    struct slot *slot = arg;
    struct exports *e = slot->exports;
    struct export_job *job = slot->job;
    struct error err = { 0 };
    int r;

    thread_begin("muster-export", THREAD_PLAIN);
    (void)setpriority(PRIO_PROCESS, 0, NICENESS); /* of this thread, on Linux */
    r = run_export(slot, &err);
    lock_acquire(&e->lock); /* before done(): the client may request the next one then */
    slot->running = false;
    lock_release(&e->lock);
    job->done(job, r == 0 ? NULL : &err);
    return NULL;
}

/* NULL when all are taken. */
static struct slot *free_slot(struct exports *e) REQUIRES(e->lock)
{
    for (size_t i = 0; i < EXPORTS_MAX; i++)
        if (!e->slots[i].running)
            return &e->slots[i];
    return NULL;
}

static int start(struct slot *slot, struct export_job *job, struct error *err)
{
    int r;

    if (slot->started) /* its export has ended */
        pthread_join(slot->thread, NULL);
    slot->job = job;
    r = pthread_create(&slot->thread, NULL, export_thread, slot);
    slot->started = slot->running = r == 0;
    return r == 0 ? 0 : err_set(err, ERR_BUSY, "cannot start a thread");
}

int exports_submit(struct exports *e, struct export_job *job, struct error *err)
{
    struct slot *slot;
    int r;

    lock_acquire(&e->lock);
    slot = atomic_load(&e->stopping) ? NULL : free_slot(e);
    if (slot == NULL) {
        metric_add(METRIC_BUSY_EXPORTS, 1);
        r = err_set(err, ERR_BUSY, "%d exports are already running; retry later", EXPORTS_MAX);
    } else {
        slot->exports = e;
        r = start(slot, job, err);
    }
    lock_release(&e->lock);
    return r;
}

unsigned exports_running(struct exports *e)
{
    unsigned n = 0;

    lock_acquire(&e->lock);
    for (size_t i = 0; i < EXPORTS_MAX; i++)
        n += e->slots[i].running;
    lock_release(&e->lock);
    return n;
}

void exports_free(struct exports *e)
{
    if (e == NULL)
        return;
    lock_acquire(&e->lock);
    atomic_store(&e->stopping, true);
    lock_release(&e->lock);
    lock_unshared(&e->lock); /* nothing starts any more, and `started` is the submitters' own */
    for (size_t i = 0; i < EXPORTS_MAX; i++)
        if (e->slots[i].started)
            pthread_join(e->slots[i].thread, NULL);
    lock_done(&e->lock);
    free(e->database);
    free(e);
}

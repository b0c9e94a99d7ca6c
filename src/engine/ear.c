/* ear.c - listens, and tells what has gathered, five times a second.
 *
 * With Citus, a text is heard by those who listen on the server where it was sent. So a node that
 * uses a worker also listens on the coordinator, and tells there, too, what it has to tell. Texts
 * that are sent with a transaction come from the worker: each such node passes them on to the
 * coordinator. Where it cannot be reached, a node hears those of its own server, and is heard by
 * them.
 */
#include "engine/ear.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/thread.h"
#include "db/db.h"
#include "db/migrate.h"
#include "engine/database_clock.h"
#include "engine/engine.h"
#include "engine/feature.h"
#include "engine/watcher.h"
#include "engine/writer.h"

enum {
    HEAR_MS = 200,
    TEXT_MAX = 7900,      /* PostgreSQL takes less than 8,000 bytes */
    WRITES_MS = 200,      /* how often a process that writes much says so */
    WRITES_MIN = 20,      /* transactions within that time */
    WRITES_STILL_MIN = 5, /* the same beside others, when groups are larger and fewer */
    NAME_LEN = 16,
    AGAIN_S = 10, /* until the coordinator is tried again, which may take two seconds */
    LATER_S = 60, /* the same when it was not reached the last time */
};

struct ear {
    struct ear_options options;
    pthread_t thread;
    struct buf text;
    char writes[sizeof(EAR_WRITES) + NAME_LEN]; /* and a name of this process, chosen at random */
    uint64_t commits;                           /* of the writer, at `counted_us` */
    int64_t counted_us;                         /* raw clock */
    bool listens;                               /* on its own server */
    struct db *coordinator; /* of a worker of Citus; NULL: not reached, or not needed */
    int64_t tried_us;       /* when it was connected to last, by the raw clock; 0: never */
    int64_t timed_us;       /* when it was asked for the time last, by the raw clock */
    bool is_unreached;      /* it could not be, the last time */
    bool pass_on;           /* a change that was told on the own server */
    atomic_bool hears;

    struct lock lock;
    struct cond wake;
    bool stopping GUARDED_BY(lock);
};

static bool is_stopping(struct ear *ear)
{
    bool stopping;

    lock_acquire(&ear->lock);
    stopping = ear->stopping;
    lock_release(&ear->lock);
    return stopping;
}

/* Without a connection: once a second. */
static void wait_lost(struct ear *ear)
{
    const struct timespec until = clock_deadline(CLOCK_MONOTONIC, USEC_PER_SEC);

    lock_acquire(&ear->lock);
    while (!ear->stopping && cond_wait_until(&ear->wake, &ear->lock, &until))
        continue;
    lock_release(&ear->lock);
}

static void heard(void *ctx, struct str text)
{
    const struct ear *ear = ctx;
    const struct ear_options *o = &ear->options;

    if (str_eq(text, STR_LIT(ENGINE_CHANGED))) {
        watcher_wake(o->watcher);
        return;
    }
    if (str_eq(text, STR_LIT(MIGRATE_BEGINS))) {
        writer_pause(o->writer, MIGRATE_PAUSE_MS);
        return;
    }
    if (str_eq(text, STR_LIT(MIGRATE_ENDS))) {
        writer_go_on(o->writer);
        return;
    }
    if (str_starts(text, STR_LIT(EAR_WRITES))) {
        if (!str_eq(text, str_of(ear->writes))) /* behind a pooler it hears itself */
            writer_note_crowd(o->writer);
        return;
    }
    for (size_t f = 0; o->features[f] != NULL; f++) {
        const struct feature *feature = o->features[f];
        const size_t n = strlen(feature->name);

        if (feature->hear != NULL && text.len > n && text.data[n] == ' ' &&
            str_starts(text, str_of(feature->name)))
            feature->hear(o->engine, str_from(text.data + n + 1, text.len - n - 1));
    }
}

static void heard_here(void *ctx, struct str text)
{
    struct ear *ear = ctx;

    heard(ear, text);
    if (str_eq(text, STR_LIT(ENGINE_CHANGED)))
        ear->pass_on = db_is_worker(ear->options.db);
}

/* From now on it listens, perhaps again after a connection was lost: something may have been
 * missed. */
static void catch_up(const struct ear *ear)
{
    const struct ear_options *o = &ear->options;

    watcher_wake(o->watcher);
    for (size_t f = 0; o->features[f] != NULL; f++)
        if (o->features[f]->hear != NULL)
            o->features[f]->hear(o->engine, STR_LIT(""));
}

static int begin(struct ear *ear, struct error *err)
{
    const struct ear_options *o = &ear->options;

    if (db_ping(o->db, err) != 0)
        return -1;
    if (!db_is_worker(o->db)) { /* a URL of several hosts may lead to the coordinator by now */
        db_close(ear->coordinator);
        ear->coordinator = NULL;
    }
    if (db_hear(o->db, 0, heard_here, ear, err) != 0)
        return -1;
    catch_up(ear);
    return 0;
}

static void leave_coordinator(struct ear *ear, const struct error *why)
{
    db_close(ear->coordinator);
    ear->coordinator = NULL;
    if (!ear->is_unreached)
        log_write(LOG_WARNING, "ear",
                  "changes of nodes that use other servers are noticed within a second only: the "
                  "coordinator: %s",
                  why->text);
    ear->is_unreached = true;
}

static void reach_coordinator(struct ear *ear)
{
    struct db *own = ear->options.db;
    const int64_t now_us = clock_raw_us();
    const int64_t pause_us = (int64_t)(ear->is_unreached ? LATER_S : AGAIN_S) * USEC_PER_SEC;
    struct error why = { 0 };

    if (!db_is_worker(own) || ear->coordinator != NULL ||
        (ear->tried_us != 0 && now_us - ear->tried_us < pause_us))
        return;
    ear->tried_us = now_us;
    if (db_open_coordinator(own, DB_READER, &ear->coordinator, &why) != 0 ||
        db_hear(ear->coordinator, 0, heard, ear, &why) != 0) {
        leave_coordinator(ear, &why);
        return;
    }
    ear->is_unreached = false;
    catch_up(ear);
}

/* Nodes of all servers go by one clock: each worker has its own. */
static void follow_clock(struct ear *ear)
{
    const int64_t now_us = clock_raw_us();
    struct error why = { 0 };

    if (ear->coordinator == NULL || now_us - ear->timed_us < USEC_PER_SEC)
        return;
    ear->timed_us = now_us;
    if (database_clock_learn(ear->coordinator, &why) != 0)
        leave_coordinator(ear, &why);
}

/* What has come on both servers. */
static int hear_all(struct ear *ear, struct error *err)
{
    struct error why = { 0 };

    if (db_hear(ear->options.db, 0, heard_here, ear, err) != 0)
        return -1;
    if (ear->coordinator != NULL && db_hear(ear->coordinator, 0, heard, ear, &why) != 0)
        leave_coordinator(ear, &why);
    return 0;
}

static int hear(struct ear *ear, struct error *err)
{
    struct pollfd fds[2] = { { .events = POLLIN }, { .events = POLLIN } };

    if (ear->coordinator == NULL)
        return db_hear(ear->options.db, HEAR_MS, heard_here, ear, err);
    /* what came with the answer to the last statement makes no socket readable */
    if (hear_all(ear, err) != 0)
        return -1;
    if (ear->coordinator == NULL)
        return 0;
    fds[0].fd = db_socket(ear->options.db);
    fds[1].fd = db_socket(ear->coordinator);
    (void)poll(fds, COUNT_OF(fds), ear->pass_on ? 0 : HEAR_MS);
    return hear_all(ear, err);
}

/* To all who listen; some hear it twice. */
static int notify(struct ear *ear, struct str text, struct error *err)
{
    struct error why = { 0 };

    if (ear->coordinator != NULL && db_notify(ear->coordinator, text, &why) != 0)
        leave_coordinator(ear, &why);
    return db_notify(ear->options.db, text, err);
}

/* Others then form groups that cost the database little. */
static int tell_writes(struct ear *ear, struct error *err)
{
    const struct ear_options *o = &ear->options;
    const uint64_t commits = metric_sum(METRIC_COMMITS), fresh = commits - ear->commits;
    const int64_t now_us = clock_raw_us();

    if (now_us - ear->counted_us < (int64_t)WRITES_MS * USEC_PER_MSEC)
        return 0;
    ear->commits = commits;
    ear->counted_us = now_us;
    if (fresh < (writer_is_crowded(o->writer) ? WRITES_STILL_MIN : WRITES_MIN))
        return 0;
    return notify(ear, str_of(ear->writes), err);
}

/* Those who use this worker have heard it, the others have not. */
static void tell_change(struct ear *ear)
{
    struct error why = { 0 };

    if (ear->pass_on && ear->coordinator != NULL &&
        db_notify(ear->coordinator, STR_LIT(ENGINE_CHANGED), &why) != 0)
        leave_coordinator(ear, &why);
    ear->pass_on = false;
}

static int tell(struct ear *ear, struct error *err)
{
    const struct ear_options *o = &ear->options;

    tell_change(ear);
    if (tell_writes(ear, err) != 0)
        return -1;
    for (size_t f = 0; o->features[f] != NULL; f++) {
        if (o->features[f]->tell == NULL)
            continue;
        buf_clear(&ear->text);
        buf_printf(&ear->text, "%s ", o->features[f]->name);
        if (o->features[f]->tell(o->engine, &ear->text) &&
            notify(ear, buf_str(&ear->text), err) != 0)
            return -1;
    }
    return 0;
}

static void *ear_main(void *arg)
{
    struct ear *ear = arg;

    thread_begin("muster-ear", THREAD_PLAIN);
    while (!is_stopping(ear)) {
        struct error err = { 0 };
        const bool listens = ear->listens;
        int r = listens ? hear(ear, &err) : begin(ear, &err);

        if (r == 0)
            reach_coordinator(ear);
        follow_clock(ear);
        if (r == 0)
            r = tell(ear, &err);
        ear->listens = r == 0;
        atomic_store(&ear->hears,
                     r == 0 && (!db_is_worker(ear->options.db) || ear->coordinator != NULL));
        if (listens && r != 0)
            log_write(LOG_WARNING, "ear", "changes elsewhere are noticed within a second only: %s",
                      err.text);
        if (r != 0)
            wait_lost(ear);
    }
    return NULL;
}

int ear_new(const struct ear_options *options, struct ear **ret, struct error *err)
{
    struct ear *ear = NEW(struct ear);

    ear->options = *options;
    buf_init(&ear->text, TEXT_MAX);
    memcpy(ear->writes, EAR_WRITES, sizeof(EAR_WRITES));
    digest_random_base62(ear->writes + strlen(EAR_WRITES), NAME_LEN);
    atomic_init(&ear->hears, false);
    lock_init(&ear->lock);
    cond_init(&ear->wake);
    if (pthread_create(&ear->thread, NULL, ear_main, ear) != 0) {
        free(ear);
        return err_set(err, ERR_INTERNAL, "cannot start the ear's thread");
    }
    *ret = ear;
    return 0;
}

bool ear_hears(const struct ear *ear)
{
    return ear != NULL && atomic_load(&ear->hears);
}

void ear_free(struct ear *ear)
{
    if (ear == NULL)
        return;
    lock_acquire(&ear->lock);
    ear->stopping = true;
    cond_signal(&ear->wake);
    lock_release(&ear->lock);
    pthread_join(ear->thread, NULL);
    cond_done(&ear->wake);
    lock_done(&ear->lock);
    buf_done(&ear->text);
    db_close(ear->coordinator);
    free(ear);
}

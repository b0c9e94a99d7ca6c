/* listener.c - listens, and sends what has gathered, five times a second.
 *
 * With Citus, a NOTIFY reaches only the sessions that LISTEN on the same server. So a node that
 * uses a worker also listens on the coordinator, and sends its texts to both. A NOTIFY that is part
 * of a transaction is sent on the worker only: each node that uses this worker forwards it to the
 * coordinator. While the coordinator cannot be reached, nodes of the same worker still notify each
 * other.
 */
#include "engine/listener.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "db/migrate.h"
#include "db/servers.h"
#include "engine/feature.h"
#include "engine/watcher.h"
#include "engine/writer.h"

enum {
    LISTEN_MS = 200,
    LISTEN_BOTH_MS = 50, /* on each of two servers */
    TEXT_MAX = 7900,     /* PostgreSQL takes less than 8,000 bytes */
    AGAIN_S = 10,        /* until the coordinator is tried again, which may take two seconds */
};

struct listener {
    struct listener_options options;
    pthread_t thread;
    struct buf text;
    struct db *coordinator; /* of a worker of Citus; NULL: not reached, or not needed */
    int64_t tried_us;       /* when it was connected to last, by the raw clock; 0: never */
    int64_t timed_us;       /* when it was asked for the time last, by the raw clock */
    bool pass_on;           /* a change that came on the own server */
    atomic_bool listens;

    struct lock lock;
    struct cond wake;
    bool stopping GUARDED_BY(lock);
};

/* Waits for so long; true when stopping. */
static bool rest(struct listener *l, int64_t us)
{
    const struct timespec until = clock_deadline(CLOCK_MONOTONIC, us);
    bool stopping;

    lock_acquire(&l->lock);
    while (!l->stopping && us > 0 && cond_wait_until(&l->wake, &l->lock, &until))
        continue;
    stopping = l->stopping;
    lock_release(&l->lock);
    return stopping;
}

static void on_text(void *ctx, struct str text)
{
    const struct listener *l = ctx;
    const struct listener_options *o = &l->options;

    if (str_eq(text, STR_LIT(ENGINE_CHANGED)))
        watcher_wake(o->watcher);
    else if (str_eq(text, STR_LIT(MIGRATE_BEGINS)))
        writer_pause(o->writer, MIGRATE_PAUSE_MS);
    else if (str_eq(text, STR_LIT(MIGRATE_ENDS)))
        writer_pause(o->writer, 0);
    for (size_t f = 0; o->features[f] != NULL; f++) {
        const struct feature *feature = o->features[f];
        const size_t n = strlen(feature->name);

        if (feature->notified != NULL && text.len > n && text.data[n] == ' ' &&
            str_starts(text, str_of(feature->name)))
            feature->notified(o->engine, str_from(text.data + n + 1, text.len - n - 1));
    }
}

static void on_own_text(void *ctx, struct str text)
{
    struct listener *l = ctx;

    on_text(l, text);
    if (str_eq(text, STR_LIT(ENGINE_CHANGED)))
        l->pass_on = db_is_worker(l->options.db);
}

/* From now on it listens, perhaps again after a connection was lost: something may have been
 * missed. */
static void catch_up(const struct listener *l)
{
    const struct listener_options *o = &l->options;

    watcher_wake(o->watcher);
    for (size_t f = 0; o->features[f] != NULL; f++)
        if (o->features[f]->notified != NULL)
            o->features[f]->notified(o->engine, STR_LIT(""));
}

static void leave_coordinator(struct listener *l, const struct error *why)
{
    db_close(l->coordinator);
    l->coordinator = NULL;
    if (why != NULL)
        log_write(LOG_WARNING, "listener",
                  "no LISTEN connection to the coordinator; changes of nodes on other servers are "
                  "found by polling once a second: %s",
                  why->text);
}

/* Of a worker. Nodes of all servers go by the coordinator's clock: each worker has its own. */
static void use_coordinator(struct listener *l)
{
    const int64_t now_us = clock_raw_us();
    struct db *own = l->options.db;
    struct error why = { 0 };
    int r = 0;

    if (!db_is_worker(own)) { /* a URL of several hosts may lead to the coordinator by now */
        leave_coordinator(l, NULL);
        return;
    }
    if (l->coordinator == NULL) {
        if (l->tried_us != 0 && now_us - l->tried_us < (int64_t)AGAIN_S * USEC_PER_SEC)
            return;
        l->tried_us = now_us;
        r = db_open_coordinator(own, DB_READER, &l->coordinator, &why);
    }
    if (r == 0)
        r = db_listen(l->coordinator, LISTEN_BOTH_MS, on_text, l, &why);
    if (r == 1)
        catch_up(l);
    if (r >= 0 && now_us - l->timed_us >= USEC_PER_SEC) {
        l->timed_us = now_us;
        r = database_clock_learn(l->coordinator, &why);
    }
    if (r >= 0 && l->pass_on) /* nodes on other servers did not receive it */
        r = db_notify(l->coordinator, STR_LIT(ENGINE_CHANGED), &why);
    l->pass_on = false;
    if (r < 0)
        leave_coordinator(l, &why);
}

/* Notifies all listening nodes; some receive the text twice. */
static int send_text(struct listener *l, struct str text, struct error *err)
{
    struct error why = { 0 };

    if (l->coordinator != NULL && db_notify(l->coordinator, text, &why) != 0)
        leave_coordinator(l, &why);
    return db_notify(l->options.db, text, err);
}

static int send_all(struct listener *l, struct error *err)
{
    const struct listener_options *o = &l->options;

    for (size_t f = 0; o->features[f] != NULL; f++) {
        if (o->features[f]->notify == NULL)
            continue;
        buf_clear(&l->text);
        buf_printf(&l->text, "%s ", o->features[f]->name);
        if (o->features[f]->notify(o->engine, &l->text) &&
            send_text(l, buf_str(&l->text), err) != 0)
            return -1;
    }
    return 0;
}

static int listen_and_send(struct listener *l, struct error *err)
{
    const int ms = l->coordinator == NULL ? LISTEN_MS : LISTEN_BOTH_MS;
    const int r = db_listen(l->options.db, ms, on_own_text, l, err);

    if (r < 0)
        return -1;
    if (r == 1)
        catch_up(l);
    use_coordinator(l);
    return send_all(l, err);
}

static void *listener_main(void *arg)
{
    struct listener *l = arg;
    int64_t rest_us = 0;

    thread_begin("muster-listen", THREAD_PLAIN);
    while (!rest(l, rest_us)) {
        struct error err = { 0 };
        const bool ok = listen_and_send(l, &err) == 0;

        if (!ok && rest_us == 0)
            log_write(LOG_WARNING, "listener", "LISTEN connection lost; polling once a second: %s",
                      err.text);
        rest_us = ok ? 0 : USEC_PER_SEC;
        atomic_store(&l->listens, ok && (!db_is_worker(l->options.db) || l->coordinator != NULL));
    }
    return NULL;
}

int listener_new(const struct listener_options *options, struct listener **ret, struct error *err)
{
    struct listener *l = NEW(struct listener);

    l->options = *options;
    buf_init(&l->text, TEXT_MAX);
    lock_init(&l->lock);
    cond_init(&l->wake);
    if (pthread_create(&l->thread, NULL, listener_main, l) != 0) {
        free(l);
        return err_set(err, ERR_INTERNAL, "cannot start the listener thread");
    }
    *ret = l;
    return 0;
}

bool listener_listens(const struct listener *l)
{
    return l != NULL && atomic_load(&l->listens);
}

void listener_free(struct listener *l)
{
    if (l == NULL)
        return;
    lock_acquire(&l->lock);
    l->stopping = true;
    cond_signal(&l->wake);
    lock_release(&l->lock);
    pthread_join(l->thread, NULL);
    cond_done(&l->wake);
    lock_done(&l->lock);
    buf_done(&l->text);
    db_close(l->coordinator);
    free(l);
}

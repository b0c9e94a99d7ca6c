/* watcher.c - the thread, its period, the health check of the database, and its clock. */
#include "engine/watcher.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "db/db.h"
#include "db/servers.h"

enum { PERIOD_MS = 1000, TEST_PERIOD_MS = 100, ANSWER_S = 8 };

struct watcher {
    struct watcher_options options;
    pthread_t thread;
    struct lock lock;
    struct cond wake;
    bool stopping GUARDED_BY(lock), woken GUARDED_BY(lock);
    atomic_bool healthy;
    _Atomic int64_t answered_us; /* monotonic: when the database last answered */
};

static void refresh_caches(struct watcher *w)
{
    bool was_healthy = atomic_load(&w->healthy);
    struct error err = { 0 };
    bool ok = w->options.refresh(w->options.ctx, w->options.db, &err) == 0;

    assert(thread_may_be("muster-watcher"));
    atomic_store(&w->healthy, ok);
    if (ok)
        atomic_store(&w->answered_us, clock_mono_us());
    if (was_healthy && !ok)
        log_write(LOG_ERROR, "database", "does not answer: %s", err.text);
    else if (!was_healthy && ok)
        log_write(LOG_INFO, "database", "is available again");
    if (ok && w->options.has_more(w->options.ctx))
        watcher_wake(w);
}

/* The time of the next tick. */
static struct timespec next_tick(void)
{
    const int period_ms = clock_is_followed() ? TEST_PERIOD_MS : PERIOD_MS;

    return clock_deadline(CLOCK_MONOTONIC, (int64_t)period_ms * USEC_PER_MSEC);
}

enum wait_end { WAIT_TICK, WAIT_WOKEN, WAIT_STOPPING };

static enum wait_end wait_until(struct watcher *w, const struct timespec *until)
{
    enum wait_end end = WAIT_TICK;

    lock_acquire(&w->lock);
    while (!w->stopping && !w->woken && cond_wait_until(&w->wake, &w->lock, until))
        continue;
    if (w->stopping)
        end = WAIT_STOPPING;
    else if (w->woken)
        end = WAIT_WOKEN;
    w->woken = false;
    lock_release(&w->lock);
    return end;
}

void watcher_wake(struct watcher *w)
{
    lock_acquire(&w->lock);
    w->woken = true;
    cond_signal(&w->wake);
    lock_release(&w->lock);
}

static bool has_passed(const struct timespec *at)
{
    const struct timespec now = clock_deadline(CLOCK_MONOTONIC, 0);

    return now.tv_sec > at->tv_sec || (now.tv_sec == at->tv_sec && now.tv_nsec >= at->tv_nsec);
}

static void *watcher_main(void *arg)
{
    struct watcher *w = arg;
    struct timespec at = next_tick();
    enum wait_end end;

    thread_begin("muster-watcher", THREAD_PLAIN);
    while ((end = wait_until(w, &at)) != WAIT_STOPPING) {
        refresh_caches(w);
        if (end == WAIT_WOKEN && !has_passed(&at)) /* often woken, it still ticks */
            continue;
        w->options.tick(w->options.ctx, atomic_load(&w->healthy));
        at = next_tick();
    }
    return NULL;
}

int watcher_new(const struct watcher_options *options, struct watcher **ret, struct error *err)
{
    struct watcher *w = NEW(struct watcher);

    w->options = *options;
    atomic_init(&w->healthy, true);
    atomic_init(&w->answered_us, clock_mono_us());
    lock_init(&w->lock);
    cond_init(&w->wake);
    if (options->has_more(options->ctx))
        watcher_wake(w);
    *ret = w;
    if (pthread_create(&w->thread, NULL, watcher_main, w) != 0) {
        *ret = NULL;
        free(w);
        return err_set(err, ERR_INTERNAL, "cannot start the watcher thread");
    }
    return 0;
}

bool watcher_is_healthy(const struct watcher *w)
{
    int64_t age_us = clock_mono_us() - atomic_load(&w->answered_us);

    /* a database that hangs returns no error */
    return atomic_load(&w->healthy) && age_us < (int64_t)ANSWER_S * USEC_PER_SEC;
}

void watcher_free(struct watcher *w)
{
    if (w == NULL)
        return;
    lock_acquire(&w->lock);
    w->stopping = true;
    cond_signal(&w->wake);
    lock_release(&w->lock);
    pthread_join(w->thread, NULL);
    cond_done(&w->wake);
    lock_done(&w->lock);
    free(w);
}

/* --- the database's clock: one question, between two readings of the own clock --- */

enum {
    CALM_US = 2000,            /* differences up to this are left: the clock would only jitter */
    SLOW_US = USEC_PER_SEC,    /* slower answers are too imprecise to use */
    FAR_US = 2 * USEC_PER_SEC, /* worth a line in the log */
};

/* clang-format off */
static const struct db_query select_now = {
    .sqlite = "SELECT 0", /* one machine: not asked */
    .postgres = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)",
};
/* clang-format on */

static void tell(int64_t before_us, int64_t now_us)
{
    if (llabs(now_us) >= FAR_US && llabs(now_us - before_us) >= FAR_US)
        log_write(LOG_WARNING, "clock",
                  "this machine's clock is %.1f s %s the database's, which is used: set it right",
                  (double)llabs(now_us) / (double)USEC_PER_SEC, now_us < 0 ? "ahead of" : "behind");
}

/* Set once the clock of the coordinator, or of a single PostgreSQL, was read: from then on workers'
 * clocks are ignored. */
static atomic_bool led;

int database_clock_learn(struct db *db, struct error *err)
{
    const bool leads = !db_is_worker(db);
    const int64_t asked_us = clock_raw_us();
    int64_t now_us = 0, took_us, offset_us;

    if (db_exec(db, &select_now, DB_NO_ARGS, db_read_int, &now_us, err) != 0)
        return -1;
    took_us = clock_raw_us() - asked_us;
    if (took_us <= SLOW_US && leads)
        atomic_store(&led, true);
    if (atomic_load(&led) != leads)
        return 0;
    offset_us = now_us + took_us / 2 - clock_machine_us();
    if (took_us > SLOW_US || llabs(offset_us - clock_offset_us()) <= took_us / 2 + CALM_US)
        return 0;
    tell(clock_offset_us(), offset_us);
    clock_set_offset_us(offset_us);
    return 0;
}

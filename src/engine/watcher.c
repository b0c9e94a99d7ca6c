/* watcher.c - the thread, its period, and the health check of the database. */
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
        log_write(LOG_INFO, "database", "answers again");
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

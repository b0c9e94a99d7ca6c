/* writer_pause.c - writers begin no transaction for a moment, so that another process can have the
 * locks of a migration (db/migrate.c). */
#include "base/clock.h"
#include "base/lock.h"
#include "engine/writer_state.h"

void writer_pause(struct writer *w, int ms)
{
    atomic_store_explicit(&w->paused_us, clock_raw_us() + (int64_t)ms * USEC_PER_MSEC,
                          memory_order_relaxed);
}

void writer_go_on(struct writer *w)
{
    lock_acquire(&w->lock);
    atomic_store_explicit(&w->paused_us, 0, memory_order_relaxed);
    cond_broadcast(&w->filled);
    lock_release(&w->lock);
}

static int64_t left_us(const struct writer *w)
{
    const int64_t until_us = atomic_load_explicit(&w->paused_us, memory_order_relaxed);

    return until_us == 0 ? 0 : until_us - clock_raw_us();
}

bool writer_await_pause(struct writer *w)
{
    bool waited = false;

    while (left_us(w) > 0 && !w->stopping) {
        const struct timespec until = clock_deadline(CLOCK_MONOTONIC, left_us(w));

        (void)cond_wait_until(&w->filled, &w->lock, &until);
        waited = true;
    }
    return waited;
}

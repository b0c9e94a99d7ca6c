/* expirer.c - the thread and its period. */
#include "engine/expirer.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/thread.h"

enum { PERIOD_US = 100000 };

struct expirer {
    void (*expire)(void *ctx);
    void *ctx;
    pthread_t thread;
    struct lock lock;
    struct cond wake;
    bool stopping GUARDED_BY(lock);
};

/* Waits one period; true when stopping. */
static bool wait_period(struct expirer *x)
{
    const struct timespec until = clock_deadline(CLOCK_MONOTONIC, PERIOD_US);
    bool stopping;

    lock_acquire(&x->lock);
    while (!x->stopping && cond_wait_until(&x->wake, &x->lock, &until))
        continue;
    stopping = x->stopping;
    lock_release(&x->lock);
    return stopping;
}

static void *expirer_main(void *arg)
{
    struct expirer *x = arg;

    thread_begin("muster-expirer", THREAD_PLAIN);
    while (!wait_period(x))
        x->expire(x->ctx);
    return NULL;
}

int expirer_new(void (*expire)(void *ctx), void *ctx, struct expirer **ret, struct error *err)
{
    struct expirer *x = NEW(struct expirer);

    x->expire = expire;
    x->ctx = ctx;
    lock_init(&x->lock);
    cond_init(&x->wake);
    if (pthread_create(&x->thread, NULL, expirer_main, x) != 0) {
        free(x);
        return err_set(err, ERR_INTERNAL, "cannot start the expirer thread");
    }
    *ret = x;
    return 0;
}

void expirer_free(struct expirer *x)
{
    if (x == NULL)
        return;
    lock_acquire(&x->lock);
    x->stopping = true;
    cond_signal(&x->wake);
    lock_release(&x->lock);
    pthread_join(x->thread, NULL);
    cond_done(&x->wake);
    lock_done(&x->lock);
    free(x);
}

/* lookup.c - one thread per name, and what it shares with the attempt that needs it.
 *
 * Invariants:
 *  1. The thread writes `found` and `status` before it sets `done`, and nothing after.
 *  2. Thread and caller both hold the lookup; the last to finish frees it.
 */
#include "features/webhooks/lookup.h"

#include <assert.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/arena.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/thread.h"

enum {
    LOOKUPS_MAX = 256, /* threads at once, including those that were given up */
    STACK_BYTES = 256 << 10
};

struct lookup {
    struct arena arena; /* of the two names */
    const char *host, *port;
    struct addrinfo *found;
    int status; /* of getaddrinfo() */

    lookup_wake_fn *wake;
    void *ctx;

    struct lock lock;
    bool done GUARDED_BY(lock), abandoned GUARDED_BY(lock);
};

static atomic_uint n_threads;

static void destroy(struct lookup *l)
{
    lock_unshared(&l->lock);
    ASSERT_ALWAYS(l->done && l->abandoned); /* 2: both sides are through with it */
    if (l->found != NULL)
        freeaddrinfo(l->found);
    lock_done(&l->lock);
    arena_done(&l->arena);
    free(l);
}

static void finish(struct lookup *l)
{
    bool abandoned;

    lock_acquire(&l->lock);
    assert(!l->done); /* 1 */
    l->done = true;
    abandoned = l->abandoned;
    if (!abandoned)
        l->wake(l->ctx);
    lock_release(&l->lock);
    if (abandoned)
        destroy(l);
}

static void *lookup_thread(void *arg)
{
    const struct addrinfo hints = { .ai_family = AF_UNSPEC,
                                    .ai_socktype = SOCK_STREAM,
                                    .ai_flags = AI_NUMERICSERV };
    struct lookup *l = arg;

    thread_begin("muster-lookup", THREAD_PLAIN);
    l->status = getaddrinfo(l->host, l->port, &hints, &l->found);
    if (l->status != 0)
        l->found = NULL;
    finish(l);
    (void)atomic_fetch_sub(&n_threads, 1);
    return NULL;
}

static bool start(struct lookup *l)
{
    pthread_attr_t attributes;
    pthread_t thread;
    bool started;

    if (atomic_fetch_add(&n_threads, 1) >= LOOKUPS_MAX) {
        (void)atomic_fetch_sub(&n_threads, 1);
        return false;
    }
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    started = pthread_create(&thread, &attributes, lookup_thread, l) == 0;
    pthread_attr_destroy(&attributes);
    if (!started)
        (void)atomic_fetch_sub(&n_threads, 1);
    return started;
}

struct lookup *lookup_new(struct str host, struct str port, lookup_wake_fn *wake, void *ctx)
{
    struct lookup *l = NEW(struct lookup);

    arena_init(&l->arena);
    lock_init(&l->lock);
    l->host = arena_cstr(&l->arena, host);
    l->port = arena_cstr(&l->arena, port);
    l->wake = wake;
    l->ctx = ctx;
    if (!start(l)) {
        l->status = EAI_AGAIN;
        l->done = true;
    }
    return l;
}

bool lookup_is_done(struct lookup *l)
{
    bool done;

    lock_acquire(&l->lock);
    done = l->done;
    lock_release(&l->lock);
    return done;
}

const struct addrinfo *lookup_found(const struct lookup *l, const char **ret_why)
{
    if (l->found == NULL)
        *ret_why = gai_strerror(l->status);
    return l->found;
}

void lookup_free(struct lookup *l)
{
    bool done;

    if (l == NULL)
        return;
    lock_acquire(&l->lock);
    done = l->done;
    l->abandoned = true;
    lock_release(&l->lock);
    if (done)
        destroy(l);
}

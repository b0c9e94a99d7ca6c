/* names.c - a thread per name that is asked for, and the list of them.
 *
 * Invariants:
 *  1. A lookup is in the list until its thread is done and none waits for it: the last who waited
 *     removes it or, if there was none, who asks next.
 *  2. Its thread writes `status` and `found` before it sets `done`, and does not touch it
 * afterwards.
 */
#include "db/postgres/names.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/thread.h"

enum {
    MOMENT_US = 100000,          /* what is known without a server has this much */
    KEPT_US = 30 * USEC_PER_SEC, /* how long an answer is good that came too late */
    STACK_BYTES = 256 << 10,
};

struct lookup {
    struct lookup *next;
    char *name;
    unsigned n_waiting;
    bool done;
    int64_t done_us; /* raw clock */
    int status;      /* of getaddrinfo() */
    struct name_addresses found;
};

static struct lock lock = LOCK_INITIALIZER;
static struct cond changed;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct lookup *lookups; /* guarded by the lock */

static void init_changed(void)
{
    cond_init(&changed);
}

static void copy_addresses(const struct addrinfo *found, struct name_addresses *ret)
{
    for (const struct addrinfo *a = found; a != NULL && ret->n < NAME_ADDRESSES_MAX;
         a = a->ai_next) {
        const struct sockaddr_in *in = (const void *)a->ai_addr;
        const struct sockaddr_in6 *in6 = (const void *)a->ai_addr;
        const void *bytes =
            a->ai_family == AF_INET ? (const void *)&in->sin_addr : (const void *)&in6->sin6_addr;

        if (inet_ntop(a->ai_family, bytes, ret->list[ret->n], NAME_ADDRESS_LEN) != NULL)
            ret->n++;
    }
}

static int ask(const char *name, int flags, struct name_addresses *ret)
{
    const struct addrinfo hints = { .ai_family = AF_UNSPEC,
                                    .ai_socktype = SOCK_STREAM,
                                    .ai_flags = flags };
    struct addrinfo *found = NULL;
    int status = getaddrinfo(name, NULL, &hints, &found);

    ret->n = 0;
    if (status != 0)
        return status;
    copy_addresses(found, ret);
    freeaddrinfo(found);
    return ret->n > 0 ? 0 : EAI_NONAME;
}

static void *lookup_main(void *arg)
{
    struct lookup *l = arg;

    thread_begin("muster-name", THREAD_PLAIN);
    l->status = ask(l->name, 0, &l->found);
    lock_acquire(&lock);
    l->done_us = clock_raw_us();
    l->done = true;
    cond_broadcast(&changed);
    lock_release(&lock);
    return NULL;
}

static bool start(struct lookup *l)
{
    pthread_attr_t attributes;
    pthread_t thread;
    bool started;

    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    started = pthread_create(&thread, &attributes, lookup_main, l) == 0;
    pthread_attr_destroy(&attributes);
    return started;
}

static void forget(struct lookup *l) REQUIRES(lock)
{
    struct lookup **at = &lookups;

    assert(l->done && l->n_waiting == 0);
    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    free(l->name);
    free(l);
}

/* The one under way, or the last one's answer. */
static struct lookup *find(const char *name) REQUIRES(lock)
{
    struct lookup *l = lookups;

    while (l != NULL && strcmp(l->name, name) != 0)
        l = l->next;
    if (l == NULL || !l->done || l->n_waiting > 0 || clock_raw_us() - l->done_us < KEPT_US)
        return l;
    forget(l);
    return NULL;
}

/* NULL: there is no thread for it. */
static struct lookup *add(const char *name) REQUIRES(lock)
{
    struct lookup *l = NEW(struct lookup);

    l->name = mem_strdup(name);
    l->next = lookups;
    lookups = l;
    if (start(l))
        return l;
    l->done = true;
    forget(l);
    return NULL;
}

const char *name_look_up(const char *name, int64_t until_us, struct name_addresses *ret)
{
    const int64_t left_us = until_us - clock_raw_us();
    const struct timespec until =
        clock_deadline(CLOCK_MONOTONIC, left_us < MOMENT_US ? MOMENT_US : left_us);
    const char *why = "timeout expired";
    struct lookup *l;

    if (ask(name, AI_NUMERICHOST, ret) == 0)
        return NULL;
    (void)pthread_once(&once, init_changed);
    lock_acquire(&lock);
    l = find(name);
    if (l == NULL)
        l = add(name);
    if (l == NULL) {
        lock_release(&lock);
        return "no thread to look it up";
    }
    l->n_waiting++;
    while (!l->done && cond_wait_until(&changed, &lock, &until))
        continue;
    l->n_waiting--;
    if (l->done) {
        *ret = l->found;
        why = l->status == 0 ? NULL : gai_strerror(l->status);
        if (l->n_waiting == 0)
            forget(l);
    }
    lock_release(&lock);
    return why;
}

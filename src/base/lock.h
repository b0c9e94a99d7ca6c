/* lock.h - mutexes, read-write locks and conditions that clang checks.
 *
 * A member that a lock guards says so (GUARDED_BY), a function that must be
 * called with a lock held says so (REQUIRES), and one that takes a lock itself
 * may say that its caller must not hold it (EXCLUDES). Under clang,
 * -Wthread-safety fails the build where that does not hold; gcc sees nothing.
 *
 *     struct registry {
 *         struct rwlock lock;
 *         struct map keys GUARDED_BY(lock);
 *     };
 *     static struct key *find(struct registry *r, struct str id) REQUIRES_SHARED(r->lock);
 *
 * clang 19 checks REQUIRES for the very object, but GUARDED_BY in C only for
 * the type: some `struct registry`'s lock must be held.
 *
 * Order. These are all the locks that are taken while another is held; every
 * other lock is a leaf, held for a few instructions. A new pair goes here and
 * into docs/internals/threads.md, which has what each lock guards.
 *
 *   registry.refresh   then registry.lock, directives_cache.lock, agent_cache.lock
 *                                                                (SQL runs under it)
 *   sessions.refresh   then sessions.lock                        (SQL runs under it)
 *   ids.lock           then the metrics' lock                    (SQL runs under it)
 *   exports.lock       then the metrics' lock
 *   provider.lock      then the log's lock                       (a fetch runs under it)
 */
#pragma once
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "base/base.h"

#if defined(__clang__)
#define THREAD_ATTRIBUTE(attribute) __attribute__((attribute))
#else
#define THREAD_ATTRIBUTE(attribute)
#endif

#define CAPABILITY(name)               THREAD_ATTRIBUTE(capability(name))
#define GUARDED_BY(lock)               THREAD_ATTRIBUTE(guarded_by(&lock))
#define PT_GUARDED_BY(lock)            THREAD_ATTRIBUTE(pt_guarded_by(&lock))
#define REQUIRES(lock)                 THREAD_ATTRIBUTE(requires_capability(lock))
#define REQUIRES_SHARED(lock)          THREAD_ATTRIBUTE(requires_shared_capability(lock))
#define EXCLUDES(lock)                 THREAD_ATTRIBUTE(locks_excluded(lock))
#define ACQUIRE(lock)                  THREAD_ATTRIBUTE(acquire_capability(lock))
#define ACQUIRE_SHARED(lock)           THREAD_ATTRIBUTE(acquire_shared_capability(lock))
#define TRY_ACQUIRE_SHARED(when, lock) THREAD_ATTRIBUTE(try_acquire_shared_capability(when, lock))
#define RELEASE(lock)                  THREAD_ATTRIBUTE(release_capability(lock))
#define RELEASE_GENERIC(lock)          THREAD_ATTRIBUTE(release_generic_capability(lock))
#define ASSERT_HELD(lock)              THREAD_ATTRIBUTE(assert_capability(lock))
#define ASSERT_HELD_SHARED(lock)       THREAD_ATTRIBUTE(assert_shared_capability(lock))

/* Only with a comment that says why. In this file: pthread's functions carry no annotations. */
#define NO_THREAD_SAFETY_ANALYSIS THREAD_ATTRIBUTE(no_thread_safety_analysis)

struct CAPABILITY("lock") lock {
    pthread_mutex_t mutex;
};

struct CAPABILITY("rwlock") rwlock {
    pthread_rwlock_t rwlock;
};

/* Timed waits are by CLOCK_MONOTONIC. */
struct cond {
    pthread_cond_t cond;
};

/* For a lock with static storage; others need lock_init(). */
#define LOCK_INITIALIZER { PTHREAD_MUTEX_INITIALIZER }

/* The object that embeds the lock is not shared yet: what the lock guards may be set. */
static inline void lock_init(struct lock *l) ASSERT_HELD(*l) NO_THREAD_SAFETY_ANALYSIS
{
    ASSERT_ALWAYS(pthread_mutex_init(&l->mutex, NULL) == 0);
}

/* The lock must be free. */
static inline void lock_done(struct lock *l)
{
    ASSERT_ALWAYS(pthread_mutex_destroy(&l->mutex) == 0);
}

static inline void lock_acquire(struct lock *l) ACQUIRE(*l) NO_THREAD_SAFETY_ANALYSIS
{
    ASSERT_ALWAYS(pthread_mutex_lock(&l->mutex) == 0);
}

static inline void lock_release(struct lock *l) RELEASE(*l) NO_THREAD_SAFETY_ANALYSIS
{
    ASSERT_ALWAYS(pthread_mutex_unlock(&l->mutex) == 0);
}

/* Says that no other thread can reach what this lock guards: the object is about to be freed, or
 * its threads have been joined. Does nothing. */
static inline void lock_unshared(const struct lock *l) ASSERT_HELD(*l) NO_THREAD_SAFETY_ANALYSIS
{
    (void)l;
}

static inline void rwlock_init(struct rwlock *l) ASSERT_HELD(*l) NO_THREAD_SAFETY_ANALYSIS
{
    ASSERT_ALWAYS(pthread_rwlock_init(&l->rwlock, NULL) == 0);
}

/* A waiting writer goes before new readers: a steady stream of them must not keep it out. A thread
 * must not take it for reading twice. */
static inline void rwlock_init_writer_first(struct rwlock *l)
    ASSERT_HELD(*l) NO_THREAD_SAFETY_ANALYSIS
{
    pthread_rwlockattr_t attributes;

    ASSERT_ALWAYS(pthread_rwlockattr_init(&attributes) == 0);
    ASSERT_ALWAYS(pthread_rwlockattr_setkind_np(&attributes,
                                                PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) == 0);
    ASSERT_ALWAYS(pthread_rwlock_init(&l->rwlock, &attributes) == 0);
    ASSERT_ALWAYS(pthread_rwlockattr_destroy(&attributes) == 0);
}

static inline void rwlock_done(struct rwlock *l)
{
    ASSERT_ALWAYS(pthread_rwlock_destroy(&l->rwlock) == 0);
}

static inline void rwlock_read(struct rwlock *l) ACQUIRE_SHARED(*l) NO_THREAD_SAFETY_ANALYSIS
{
    ASSERT_ALWAYS(pthread_rwlock_rdlock(&l->rwlock) == 0);
}

/* False when the lock could not be had before `until` by CLOCK_REALTIME, the only clock that
 * POSIX has for this. */
static inline bool rwlock_read_until(struct rwlock *l, const struct timespec *until)
    TRY_ACQUIRE_SHARED(true, *l) NO_THREAD_SAFETY_ANALYSIS
{
    return pthread_rwlock_timedrdlock(&l->rwlock, until) == 0;
}

static inline void rwlock_write(struct rwlock *l) ACQUIRE(*l) NO_THREAD_SAFETY_ANALYSIS
{
    ASSERT_ALWAYS(pthread_rwlock_wrlock(&l->rwlock) == 0);
}

static inline void rwlock_release(struct rwlock *l) RELEASE_GENERIC(*l) NO_THREAD_SAFETY_ANALYSIS
{
    ASSERT_ALWAYS(pthread_rwlock_unlock(&l->rwlock) == 0);
}

/* As lock_unshared(). */
static inline void rwlock_unshared(const struct rwlock *l) ASSERT_HELD(*l) NO_THREAD_SAFETY_ANALYSIS
{
    (void)l;
}

/* Says that this thread is the only one that ever takes the lock for writing: it may read what the
 * lock guards without it. Does nothing. */
static inline void rwlock_only_writer(const struct rwlock *l)
    ASSERT_HELD_SHARED(*l) NO_THREAD_SAFETY_ANALYSIS
{
    (void)l;
}

static inline void cond_init(struct cond *c)
{
    pthread_condattr_t attributes;

    ASSERT_ALWAYS(pthread_condattr_init(&attributes) == 0);
    ASSERT_ALWAYS(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0);
    ASSERT_ALWAYS(pthread_cond_init(&c->cond, &attributes) == 0);
    ASSERT_ALWAYS(pthread_condattr_destroy(&attributes) == 0);
}

static inline void cond_done(struct cond *c)
{
    ASSERT_ALWAYS(pthread_cond_destroy(&c->cond) == 0);
}

static inline void cond_signal(struct cond *c)
{
    ASSERT_ALWAYS(pthread_cond_signal(&c->cond) == 0);
}

static inline void cond_broadcast(struct cond *c)
{
    ASSERT_ALWAYS(pthread_cond_broadcast(&c->cond) == 0);
}

/* May return without a signal: wait in a loop. */
static inline void cond_wait(struct cond *c, struct lock *l) REQUIRES(*l)
{
    ASSERT_ALWAYS(pthread_cond_wait(&c->cond, &l->mutex) == 0);
}

/* False when `until` has passed, by CLOCK_MONOTONIC. */
static inline bool cond_wait_until(struct cond *c, struct lock *l, const struct timespec *until)
    REQUIRES(*l)
{
    return pthread_cond_timedwait(&c->cond, &l->mutex, until) == 0;
}

/* A job that never runs twice at once; callers skip it instead of waiting:
 *
 *     if (!busy_begin(&m->busy))
 *         return 0; (the last one is still under way)
 *     …
 *     busy_end(&m->busy); (on any thread)
 *
 * What the job wrote before busy_end() is seen after the next busy_begin(). */

/* Zeroes: not busy. */
struct busy {
    atomic_bool taken;
};

/* False when it is busy already. */
static inline bool busy_begin(struct busy *b)
{
    return !atomic_exchange(&b->taken, true);
}

static inline void busy_end(struct busy *b)
{
    bool taken = atomic_exchange(&b->taken, false);

    assert(taken);
    (void)taken;
}

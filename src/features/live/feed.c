/* feed.c - collects changes per tenant, and the thread that sends them. */
#include "features/live/feed.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "features/live/topic.h"
#include "features/metrics.h"

const char feed_part[] = "feed";

enum {
    /* Between two messages about the same run or agent, and between two ticks: with what it takes
     * another process to announce a change, up to 0.2 s, a page has it within a second. */
    FLUSH_MS = 800,
    HEARTBEAT_S = 15,   /* a comment line, so that no proxy closes an idle connection */
    TICK_S = 5,         /* when other processes write too */
    LINGER_S = 60,      /* how long a tenant's messages are kept after its last listener left */
    TOPICS_MAX = 10000, /* tenants with listeners, now or a minute ago */
    KEY_MAX = 1100,     /* bytes: the kind's letter and the run's id or the agent's name */
    PUSH_MAX = 4 << 20, /* bytes per push */
};

#define TICK "event: tick\ndata: {}\n\n"

struct feed {
    bool shared;
    bool (*notified)(const struct engine *e); /* with `engine`: NULL: never */
    const struct engine *engine;
    atomic_bool active; /* there are listeners, or were within LINGER_S */
    pthread_t thread;
    int64_t flushed_us;   /* by the real clock; the thread's, as all up to the lock */
    int64_t heartbeat_us; /* the last one, by clock_mono_us() */
    int64_t checked_us;   /* when listeners were last checked, by clock_raw_us() */
    int64_t ticked_us;
    struct buf out;

    struct lock lock; /* also guards the members of topics that topic.h names */
    struct cond wake;
    bool started GUARDED_BY(lock), stopping GUARDED_BY(lock);
    bool noted GUARDED_BY(lock); /* something changed since the last flush */
    struct feed_listener *joining GUARDED_BY(lock);
    struct topic **topics GUARDED_BY(lock);
    size_t n_topics GUARDED_BY(lock), capacity GUARDED_BY(lock);
    struct map by_tenant GUARDED_BY(lock); /* the same topics */
    uint64_t next_epoch GUARDED_BY(lock);
    struct changed_tenants changed
        GUARDED_BY(lock); /* what changed here, for the feeds of other processes */
};

struct feed *feed_new(bool shared, bool (*notified)(const struct engine *e), const struct engine *e)
{
    struct feed *f = NEW(struct feed);

    lock_init(&f->lock);
    cond_init(&f->wake);
    f->shared = shared;
    f->notified = notified;
    f->engine = e;
    f->next_epoch = (uint64_t)clock_wall_us(); /* differs from those of earlier processes */
    map_init(&f->by_tenant);
    f->heartbeat_us = f->ticked_us = clock_mono_us();
    atomic_init(&f->active, false);
    buf_init(&f->out, PUSH_MAX);
    return f;
}

static struct str key_of(const int64_t *tenant_id)
{
    return str_from((const char *)tenant_id, sizeof(*tenant_id));
}

static struct topic *find_topic(struct feed *f, int64_t tenant_id) REQUIRES(f->lock)
{
    return map_get(&f->by_tenant, key_of(&tenant_id));
}

/* Noting */

static void note(struct topic *t, enum change_kind kind, struct str name, struct str text,
                 const char *status)
{
    static const char letters[] = {
        [CHANGE_RUN] = 'r', [CHANGE_AGENT] = 'a', [CHANGE_ALERT] = 'l'
    };
    char key[KEY_MAX];

    if (name.len >= sizeof(key))
        return; /* longer than any valid name */
    key[0] = letters[kind];
    if (name.len > 0)
        memcpy(key + 1, name.data, name.len);
    topic_note(t, kind, str_from(key, 1 + name.len), text, status);
}

static bool is_active(const struct feed *f)
{
    return atomic_load_explicit(&f->active, memory_order_relaxed);
}

static void wake(struct feed *f) REQUIRES(f->lock)
{
    if (!f->noted)
        cond_signal(&f->wake);
    f->noted = true;
}

bool feed_take_changed(struct feed *f, struct buf *ret)
{
    bool any;

    lock_acquire(&f->lock);
    any = changed_tenants_take(&f->changed, ret);
    lock_release(&f->lock);
    return any;
}

void feed_receive(struct feed *f, struct str text)
{
    if (!is_active(f))
        return;
    lock_acquire(&f->lock);
    for (size_t i = 0; i < f->n_topics; i++)
        if (changed_tenants_has(text, f->topics[i]->tenant_id)) {
            f->topics[i]->ticks = true;
            wake(f);
        }
    lock_release(&f->lock);
}

bool feed_is_noting(const struct feed *f)
{
    return f != NULL && (f->shared || is_active(f));
}

void feed_note_runs(struct feed *f, const struct feed_run *runs, size_t n)
{
    struct topic *t = NULL;
    int64_t tenant_id = -1;

    if (!feed_is_noting(f))
        return;
    lock_acquire(&f->lock);
    for (size_t i = 0; i < n; i++) {
        const struct feed_run *run = &runs[i];

        if (run->tenant_id != tenant_id) {
            tenant_id = run->tenant_id;
            t = find_topic(f, tenant_id);
            changed_tenants_note(&f->changed, tenant_id, f->shared);
        }
        if (t == NULL)
            continue;
        note(t, CHANGE_RUN, run->run_id, run->agent_name, run->status);
        note(t, CHANGE_AGENT, run->agent_name, STR_LIT(""), NULL);
        wake(f);
    }
    lock_release(&f->lock);
}

static void note_one(struct feed *f, int64_t tenant_id, enum change_kind kind, struct str name,
                     struct str text)
{
    struct topic *t;

    if (!feed_is_noting(f))
        return;
    lock_acquire(&f->lock);
    t = find_topic(f, tenant_id);
    changed_tenants_note(&f->changed, tenant_id, f->shared);
    if (t != NULL) {
        note(t, kind, name, text, NULL);
        wake(f);
    }
    lock_release(&f->lock);
}

void feed_note_agent(struct feed *f, int64_t tenant_id, struct str agent_name)
{
    note_one(f, tenant_id, CHANGE_AGENT, agent_name, STR_LIT(""));
}

void feed_note_alert(struct feed *f, int64_t tenant_id, struct str json)
{
    note_one(f, tenant_id, CHANGE_ALERT, STR_LIT(""), json);
}

/* Sending; on the feed's thread */

static void drop_listener(struct feed *f, struct topic *t, struct feed_listener *listener)
{
    lock_acquire(&f->lock);
    if (--t->n_listeners == 0)
        t->left_us = clock_mono_us();
    lock_release(&f->lock);
    listener->gone(listener);
}

/* To all listeners of a tenant; a listener that does not accept the text is dropped. */
static void push(struct feed *f, struct topic *t, struct str text)
{
    struct feed_listener **at = &t->listeners;

    while (*at != NULL) {
        struct feed_listener *listener = *at;

        if (listener->push(listener, text)) {
            at = &listener->next;
            continue;
        }
        *at = listener->next;
        metric_add(METRIC_FEED_DROPPED, 1);
        drop_listener(f, t, listener);
    }
}

static void flush(struct feed *f)
{
    size_t n;

    lock_acquire(&f->lock);
    f->noted = false;
    n = f->n_topics;
    lock_release(&f->lock);
    for (size_t i = 0; i < n; i++) { /* only this thread removes topics */
        struct topic_changes changes;
        struct topic *t;
        bool ticks;

        lock_acquire(&f->lock);
        t = f->topics[i];
        changes = topic_take(t);
        ticks = t->ticks;
        t->ticks = false;
        lock_release(&f->lock);
        if (ticks)
            push(f, t, STR_LIT(TICK));
        topic_publish(t, &changes, &f->out);
        topic_drop(&changes);
        if (f->out.len > 0)
            push(f, t, buf_str(&f->out));
    }
}

static void admit(struct feed *f, struct topic *t, struct feed_listener *listener)
{
    topic_greet(t, str_of(listener->last_id), &f->out);
    if (listener->push(listener, buf_str(&f->out))) {
        listener->next = t->listeners;
        t->listeners = listener;
    } else {
        drop_listener(f, t, listener);
    }
}

static void admit_all(struct feed *f, struct feed_listener *joining)
{
    while (joining != NULL) {
        struct feed_listener *next = joining->next;
        struct topic *t;

        lock_acquire(&f->lock);
        t = find_topic(f, joining->tenant_id);
        lock_release(&f->lock);
        admit(f, t, joining);
        joining = next;
    }
}

static void push_all(struct feed *f, struct str text)
{
    size_t n;

    lock_acquire(&f->lock);
    n = f->n_topics;
    lock_release(&f->lock);
    for (size_t i = 0; i < n; i++) {
        struct topic *t;

        lock_acquire(&f->lock);
        t = f->topics[i];
        lock_release(&f->lock);
        push(f, t, text);
    }
}

/* Tenants without listeners for LINGER_S. */
static void free_idle_topics(struct feed *f, int64_t now_us)
{
    lock_acquire(&f->lock);
    for (size_t i = f->n_topics; i-- > 0;) {
        struct topic *t = f->topics[i];

        if (t->n_listeners > 0 || now_us - t->left_us < (int64_t)LINGER_S * USEC_PER_SEC)
            continue;
        (void)map_remove(&f->by_tenant, key_of(&t->tenant_id));
        topic_free(t);
        f->topics[i] = f->topics[--f->n_topics];
    }
    atomic_store_explicit(&f->active, f->n_topics > 0, memory_order_relaxed);
    lock_release(&f->lock);
}

/* Checks of listeners, heartbeats, ticks and the removal of idle topics. */
static void run_periodic(struct feed *f)
{
    int64_t now_us = clock_mono_us();

    if (clock_raw_us() - f->checked_us >= USEC_PER_SEC) {
        f->checked_us = clock_raw_us();
        push_all(f, STR_LIT(""));
    }
    if (now_us - f->heartbeat_us >= (int64_t)HEARTBEAT_S * USEC_PER_SEC) {
        f->heartbeat_us = now_us;
        push_all(f, STR_LIT(":\n\n"));
    }
    if (f->shared && !(f->notified != NULL && f->notified(f->engine)) &&
        now_us - f->ticked_us >= (int64_t)TICK_S * USEC_PER_SEC) {
        f->ticked_us = now_us;
        push_all(f, STR_LIT(TICK));
    }
    free_idle_topics(f, now_us);
}

/* Until something joins, a flush is due, or a second has passed since listeners were checked. */
static void wait_for_work(struct feed *f) REQUIRES(f->lock)
{
    int64_t until_us = f->checked_us + USEC_PER_SEC;
    struct timespec until;

    while (!f->stopping && f->joining == NULL) {
        if (f->noted && f->flushed_us + (int64_t)FLUSH_MS * USEC_PER_MSEC < until_us)
            until_us = f->flushed_us + (int64_t)FLUSH_MS * USEC_PER_MSEC;
        if (clock_raw_us() >= until_us)
            return;
        until = clock_deadline(CLOCK_MONOTONIC, until_us - clock_raw_us());
        if (f->n_topics == 0)
            cond_wait(&f->wake, &f->lock);
        else
            (void)cond_wait_until(&f->wake, &f->lock, &until);
    }
}

static void *feed_thread(void *arg)
{
    struct feed *f = arg;

    thread_begin("muster-feed", THREAD_PLAIN);
    lock_acquire(&f->lock);
    while (!f->stopping) {
        struct feed_listener *joining;
        bool due;

        wait_for_work(f);
        joining = f->joining;
        f->joining = NULL;
        due = f->noted && clock_raw_us() - f->flushed_us >= (int64_t)FLUSH_MS * USEC_PER_MSEC;
        lock_release(&f->lock);
        admit_all(f, joining);
        if (due) {
            f->flushed_us = clock_raw_us();
            flush(f);
        }
        run_periodic(f);
        lock_acquire(&f->lock);
    }
    lock_release(&f->lock);
    return NULL;
}

/* Listening */

/* NULL when there is no room. */
static struct topic *ensure_topic(struct feed *f, int64_t tenant_id) REQUIRES(f->lock)
{
    struct topic *t = find_topic(f, tenant_id);

    if (t != NULL || f->n_topics == TOPICS_MAX)
        return t;
    f->topics = (struct topic **)mem_grow((void *)f->topics, f->n_topics, &f->capacity,
                                          sizeof(struct topic *));
    t = topic_new(tenant_id, f->next_epoch++);
    f->topics[f->n_topics++] = t;
    (void)map_put(&f->by_tenant, key_of(&t->tenant_id), t);
    return t;
}

static int join(struct feed *f, struct feed_listener *listener, struct error *err) REQUIRES(f->lock)
{
    struct topic *t = NULL;

    if (!f->stopping)
        t = ensure_topic(f, listener->tenant_id);
    if (t == NULL)
        return err_set(err, ERR_BUSY, "too many live connections");
    if (!f->started && pthread_create(&f->thread, NULL, feed_thread, f) != 0)
        return err_set(err, ERR_BUSY, "cannot start a thread");
    f->started = true;
    t->n_listeners++;
    listener->next = f->joining;
    f->joining = listener;
    atomic_store_explicit(&f->active, true, memory_order_relaxed);
    cond_signal(&f->wake);
    return 0;
}

int feed_listen(struct feed *f, struct feed_listener *listener, struct str last_id,
                struct error *err)
{
    int r;

    if (last_id.len >= sizeof(listener->last_id))
        last_id = STR_LIT("unknown");
    memset(listener->last_id, 0, sizeof(listener->last_id));
    if (last_id.len > 0)
        memcpy(listener->last_id, last_id.data, last_id.len);
    lock_acquire(&f->lock);
    r = join(f, listener, err);
    lock_release(&f->lock);
    return r;
}

static void end_listeners(struct feed_listener *listener)
{
    while (listener != NULL) {
        struct feed_listener *next = listener->next;

        listener->gone(listener);
        listener = next;
    }
}

void feed_free(struct feed *f)
{
    bool started;

    if (f == NULL)
        return;
    lock_acquire(&f->lock);
    f->stopping = true;
    started = f->started;
    cond_signal(&f->wake);
    lock_release(&f->lock);
    if (started)
        pthread_join(f->thread, NULL);
    lock_unshared(&f->lock);
    end_listeners(f->joining);
    for (size_t i = 0; i < f->n_topics; i++) {
        end_listeners(f->topics[i]->listeners);
        topic_free(f->topics[i]);
    }
    free((void *)f->topics);
    map_done(&f->by_tenant);
    buf_done(&f->out);
    cond_done(&f->wake);
    lock_done(&f->lock);
    free(f);
}

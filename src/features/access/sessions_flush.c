/* sessions_flush.c - stores when sessions were last used, and deletes those that ended. */
#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/access/sessions_state.h"

enum { PRUNE_LATE_S = 3600 };

/* The job that stores last uses; done() frees it. */
struct flush {
    struct writer_job job;
    struct sessions *sessions; /* which the writer does not outlive */
    struct session_row *used;
    size_t n;
    bool notifies; /* increments the change number: all processes reload */
    int64_t now_us;
};

static int sessions_flush_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    const struct flush *flush = CONTAINER_OF(job, struct flush, job);
    const int64_t late = (int64_t)PRUNE_LATE_S * USEC_PER_SEC;

    if (flush->notifies && store_users_changed(txn->db, err) != 0)
        return -1;
    if (store_sessions_used(txn->db, flush->used, flush->n, err) != 0)
        return -1;
    /* late, since another process may have seen a use that it has not stored yet */
    return store_sessions_prune(txn->db,
                                flush->now_us - (int64_t)SESSION_LIFE_S * USEC_PER_SEC - late,
                                flush->now_us - (int64_t)SESSION_IDLE_S * USEC_PER_SEC - late, err);
}

/* The next flush has it again, unless a later use comes before. */
static void collect_again(struct sessions *p, const struct session_row *used)
{
    struct session_entry *session;
    int64_t stored_at = used->last_used_at;

    rwlock_read(&p->lock);
    session = map_get(&p->sessions, digest_str(&used->digest));
    if (session != NULL)
        (void)atomic_compare_exchange_strong(&session->stored_at, &stored_at, 0);
    rwlock_release(&p->lock);
}

static void sessions_flush_done(struct writer_job *job, const struct error *err)
{
    struct flush *flush = CONTAINER_OF(job, struct flush, job);

    for (size_t i = 0; err != NULL && i < flush->n; i++)
        collect_again(flush->sessions, &flush->used[i]);
    free(flush->used);
    free(flush);
}

/* Adds the session's last use if it is not stored yet. */
static void collect_use(struct flush *flush, struct session_entry *session)
{
    int64_t used_at = atomic_load(&session->last_used_at);

    if (session->token_text != NULL || used_at <= atomic_load(&session->stored_at))
        return;
    session_raise(&session->stored_at, used_at);
    flush->used[flush->n++] =
        (struct session_row){ .digest = session->digest, .last_used_at = used_at };
}

void sessions_flush(struct sessions *p, struct writer *writer, bool shared, int64_t now_us)
{
    const int64_t late = (int64_t)PRUNE_LATE_S * USEC_PER_SEC;
    struct flush *flush = NEW(struct flush);
    struct session_entry *session;
    struct error err = { 0 };
    bool over = false;
    size_t at = 0;

    flush->job = (struct writer_job){ .apply = sessions_flush_apply,
                                      .done = sessions_flush_done,
                                      .exclusive = true,
                                      .keeps_caches = true };
    flush->sessions = p;
    flush->now_us = now_us;
    rwlock_read(&p->lock);
    flush->used = mem_new((p->sessions.n + 1) * sizeof(*flush->used));
    while ((session = map_next(&p->sessions, &at)) != NULL) {
        int64_t used_at = atomic_load(&session->last_used_at);

        over |= session->token_text == NULL &&
                sessions_end(session->created_at, used_at) + late < now_us;
        collect_use(flush, session);
    }
    assert(flush->n <= p->sessions.n);
    rwlock_release(&p->lock);
    flush->notifies = over || (shared && flush->n > 0);
    if (flush->n == 0 && !over)
        sessions_flush_done(&flush->job, NULL);
    else if (writer_submit(writer, &flush->job, &err) != 0)
        sessions_flush_done(&flush->job, &err);
}

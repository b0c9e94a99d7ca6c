/* key_use.c - the jobs that store when keys were used, and the first use of a successor. */
#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/thread.h"
#include "engine/txn.h"
#include "features/access/keys.h"
#include "features/access/registry.h"

enum {
    STEP = 256,      /* keys per transaction, during which ingest waits */
    STEPS_MAX = 40,  /* per flush; the rest is left to the next one */
    FINE_US = 100000 /* uses closer together are not noted: loops share the cache line */
};

void key_use_remember(struct key_use *use, int64_t now_us)
{
    int64_t last = atomic_load_explicit(&use->last_at, memory_order_relaxed);

    if (now_us - last >= FINE_US || now_us < last)
        atomic_store_explicit(&use->last_at, now_us, memory_order_relaxed);
}

/* A batch of keys whose last use is to be stored. */
struct flush {
    struct writer_job job;
    const struct key_entry *keys[STEP];
    size_t n;
};

static int key_uses_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    const struct flush *flush = CONTAINER_OF(job, struct flush, job);
    struct key_used used[STEP];

    assert(thread_may_be("muster-writer") && flush->n > 0 && flush->n <= STEP);
    for (size_t i = 0; i < flush->n; i++) {
        const struct key_entry *key = flush->keys[i];

        used[i] =
            (struct key_used){ key->tenant->id, key->key_id,
                               atomic_load_explicit(&key->use->last_at, memory_order_relaxed) };
    }
    return keys_used(txn->db, used, flush->n, err);
}

/* A failure loses these last uses, unless the key is used again. */
static void key_uses_done(struct writer_job *job, const struct error *err)
{
    struct flush *flush = CONTAINER_OF(job, struct flush, job);

    (void)err;
    for (size_t i = 0; i < flush->n; i++)
        key_unhold(flush->keys[i]->use);
    free(flush);
}

/* Nodes that store uses of the same keys lock their rows in one order. */
static int by_key_id(const void *a, const void *b)
{
    return str_cmp((*(const struct key_entry *const *)a)->key_id,
                   (*(const struct key_entry *const *)b)->key_id);
}

void key_use_flush(struct registry *registry, struct writer *writer)
{
    for (int i = 0; i < STEPS_MAX; i++) {
        struct flush *flush = NEW(struct flush);

        flush->n = registry_take_used(registry, flush->keys, STEP);
        qsort((void *)flush->keys, flush->n, sizeof(*flush->keys), by_key_id);
        flush->job = (struct writer_job){ .apply = key_uses_apply,
                                          .done = key_uses_done,
                                          .events = 1,
                                          .exclusive = true, /* it holds no other locks */
                                          .keeps_caches = true };
        if (flush->n == 0 || writer_submit(writer, &flush->job, NULL) != 0) {
            key_uses_done(&flush->job, NULL);
            return;
        }
    }
}

int64_t key_use_last(struct registry *registry, struct str key_id, int64_t stored_at)
{
    int64_t here = registry_last_use(registry, key_id);

    if (here == 0)
        return stored_at;
    return stored_at == TIME_NULL || stored_at < here ? here : stored_at;
}

bool key_use_is_noted(const struct key_use *use)
{
    return atomic_load_explicit(&use->noted, memory_order_acquire);
}

static int first_use_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct key_first_use *use = CONTAINER_OF(job, struct key_first_use, job);

    return key_first_used(txn->db, use->key->tenant->id, use->key->key_id, clock_wall_us(),
                          &use->good, err);
}

static void first_use_done(struct writer_job *job, const struct error *err)
{
    struct key_first_use *use = CONTAINER_OF(job, struct key_first_use, job);

    if (err == NULL && use->good)
        atomic_store_explicit(&use->key->use->noted, true, memory_order_release);
    use->done(use, err);
}

int key_use_note(struct writer *writer, struct key_first_use *use, struct error *err)
{
    assert(use->key != NULL && use->done != NULL);
    use->job = (struct writer_job){ .apply = first_use_apply,
                                    .done = first_use_done,
                                    .agent_name = use->key->key_id, /* for the order of locks */
                                    .asked_us = use->asked_us,
                                    .events = 1 };
    return writer_submit(writer, &use->job, err);
}

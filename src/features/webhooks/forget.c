/* forget.c - looks for deliveries that go: by age once an hour, by number in rounds. */
#include "features/webhooks/forget.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "engine/sync_job.h"
#include "features/webhooks/deliveries_store.h"
#include "features/webhooks/store.h"

enum {
    KEEP_S = 30 * 86400, /* finished deliveries */
    OLD_PERIOD_S = 3600,
    ROUND_PERIOD_S = 60,
    WEBHOOKS_PER_STEP = 10,
};

void forgetting_init(struct forgetting *f, int64_t now_us)
{
    *f = (struct forgetting){ .old_us = now_us, .round_us = now_us };
}

static int delete_old(void *ctx, struct db *db, struct error *err)
{
    return store_deliveries_forget(db, clock_wall_us() - (int64_t)KEEP_S * USEC_PER_SEC, ctx, err);
}

/* Told once, until a whole round has gone well. */
static void note_failure(struct forgetting *f, const struct error *err)
{
    if (!f->told)
        log_write(LOG_WARNING, "webhook",
                  "old deliveries could not be deleted, and will be later: %s", err->text);
    f->failed = true;
    f->told = true;
}

static void forget_old(struct forgetting *f, struct writer *writer)
{
    static const int64_t period_us = (int64_t)OLD_PERIOD_S * USEC_PER_SEC;
    static const int64_t soon_us = (int64_t)ROUND_PERIOD_S * USEC_PER_SEC;
    const int64_t now_us = clock_mono_us();
    struct error err = { 0 };
    bool more = false;

    if (now_us - f->old_us < period_us)
        return;
    if (writer_run_sync(writer, delete_old, &more, &err) != 0) {
        note_failure(f, &err);
        f->old_us = now_us - period_us + soon_us;
        return;
    }
    f->old_us = more ? f->old_us : now_us;
}

struct trimming {
    struct delivery_trim trim;
    bool removed, more;
};

/* A removed webhook goes with its last delivery. */
static int trim_some(void *ctx, struct db *db, struct error *err)
{
    struct trimming *t = ctx;

    if (store_deliveries_trim(db, &t->trim, &t->more, err) != 0)
        return -1;
    return !t->removed || t->more
               ? 0
               : store_webhook_delete(db, t->trim.tenant_id, t->trim.webhook_id, err);
}

/* *ret_more: its other deliveries go in further steps. */
static int trim_webhook(const struct due_webhook *webhook, struct db *db, struct writer *writer,
                        bool *ret_more, struct error *err)
{
    struct trimming t = { .trim = { webhook->tenant_id, webhook->webhook_id, STR_NULL },
                          .removed = webhook->removed };
    ARENA_SCOPED(arena);
    int r = 0;

    if (!t.removed)
        r = store_deliveries_oldest_kept(db, webhook, &arena, &t.trim.before, err);
    if (r == 0 && (t.removed || !str_is_null(t.trim.before)))
        r = writer_run_sync(writer, trim_some, &t, err);
    *ret_more = r == 0 && t.more;
    return r;
}

/* Goes on after the webhook that was looked at last, and stays at one that has more. One that fails
 * ends the step, so that this thread waits for the database once at most, but not the round. */
static void look_at(struct forgetting *f, const struct list *webhooks, struct db *db,
                    struct writer *writer)
{
    const struct due_webhook *all = webhooks->items;
    struct error err = { 0 };
    bool more = false;
    int r = 0;

    for (size_t i = 0; i < webhooks->n && r == 0; i++) {
        r = trim_webhook(&all[i], db, writer, &more, &err);
        if (more)
            break;
        f->tenant_id = all[i].tenant_id;
        (void)snprintf(f->webhook_id, sizeof(f->webhook_id), "%.*s", STR_ARG(all[i].webhook_id));
    }
    if (r != 0)
        note_failure(f, &err);
    f->in_round = more || r != 0 || webhooks->n == WEBHOOKS_PER_STEP;
}

static bool is_time(struct forgetting *f)
{
    const int64_t now_us = clock_mono_us();

    if (f->in_round)
        return true;
    if (now_us - f->round_us < (int64_t)ROUND_PERIOD_S * USEC_PER_SEC && !atomic_load(&f->asked))
        return false;
    atomic_store(&f->asked, false);
    f->round_us = now_us;
    f->in_round = true;
    f->told = f->failed;
    f->failed = false;
    f->tenant_id = 0;
    f->webhook_id[0] = '\0';
    return true;
}

static void trim_some_webhooks(struct forgetting *f, struct db *db, struct writer *writer)
{
    struct due_webhook after;
    struct error err = { 0 };
    struct list webhooks;
    ARENA_SCOPED(arena);

    if (!is_time(f))
        return;
    after = (struct due_webhook){ .tenant_id = f->tenant_id, .webhook_id = str_of(f->webhook_id) };
    if (store_webhooks_after(db, &after, WEBHOOKS_PER_STEP, &arena, &webhooks, &err) == 0) {
        look_at(f, &webhooks, db, writer);
    } else {
        note_failure(f, &err);
        f->in_round = false;
    }
}

void forgetting_step(struct forgetting *f, struct db *db, struct writer *writer)
{
    forget_old(f, writer);
    trim_some_webhooks(f, db, writer);
}

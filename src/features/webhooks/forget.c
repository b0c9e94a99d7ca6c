/* forget.c - looks for deliveries that go: by age once an hour, by number in rounds. */
#include "features/webhooks/forget.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/clock.h"
#include "engine/sync_job.h"
#include "features/webhooks/deliveries_store.h"

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

static int forget_old(struct forgetting *f, struct writer *writer, struct error *err)
{
    const int64_t now_us = clock_mono_us();
    bool more = false;

    if (now_us - f->old_us < (int64_t)OLD_PERIOD_S * USEC_PER_SEC)
        return 0;
    if (writer_run_sync(writer, delete_old, &more, err) != 0)
        return -1;
    f->old_us = more ? f->old_us : now_us;
    return 0;
}

struct trimming {
    struct delivery_trim trim;
    bool more;
};

static int trim_some(void *ctx, struct db *db, struct error *err)
{
    struct trimming *t = ctx;

    return store_deliveries_trim(db, &t->trim, &t->more, err);
}

/* *ret_more: its other deliveries go in further steps. */
static int trim_webhook(const struct due_webhook *webhook, struct db *db, struct writer *writer,
                        bool *ret_more, struct error *err)
{
    struct trimming t = { .trim = { webhook->tenant_id, webhook->webhook_id, STR_NULL } };
    struct arena arena;
    int r;

    arena_init(&arena);
    r = store_deliveries_oldest_kept(db, webhook, &arena, &t.trim.before, err);
    if (r == 0 && !str_is_null(t.trim.before))
        r = writer_run_sync(writer, trim_some, &t, err);
    arena_done(&arena);
    *ret_more = t.more;
    return r;
}

/* Goes on after the webhook that was looked at last, and stays at one that has more. */
static int look_at(struct forgetting *f, const struct list *webhooks, struct db *db,
                   struct writer *writer, struct error *err)
{
    const struct due_webhook *all = webhooks->items;
    bool more = false;

    for (size_t i = 0; i < webhooks->n && !more; i++) {
        if (trim_webhook(&all[i], db, writer, &more, err) != 0)
            return -1;
        if (more)
            break;
        f->tenant_id = all[i].tenant_id;
        (void)snprintf(f->webhook_id, sizeof(f->webhook_id), "%.*s", STR_ARG(all[i].webhook_id));
    }
    f->in_round = more || webhooks->n == WEBHOOKS_PER_STEP;
    return 0;
}

static int trim_some_webhooks(struct forgetting *f, struct db *db, struct writer *writer,
                              struct error *err)
{
    const int64_t now_us = clock_mono_us();
    struct due_webhook after;
    struct list webhooks;
    struct arena arena;
    int r;

    if (!f->in_round) {
        if (now_us - f->round_us < (int64_t)ROUND_PERIOD_S * USEC_PER_SEC)
            return 0;
        f->round_us = now_us;
        f->in_round = true;
        f->tenant_id = 0;
        f->webhook_id[0] = '\0';
    }
    after = (struct due_webhook){ .tenant_id = f->tenant_id, .webhook_id = str_of(f->webhook_id) };
    arena_init(&arena);
    r = store_webhooks_after(db, &after, WEBHOOKS_PER_STEP, &arena, &webhooks, err);
    if (r == 0)
        r = look_at(f, &webhooks, db, writer, err);
    arena_done(&arena);
    return r;
}

int forgetting_step(struct forgetting *f, struct db *db, struct writer *writer, struct error *err)
{
    if (forget_old(f, writer, err) != 0)
        return -1;
    return trim_some_webhooks(f, db, writer, err);
}

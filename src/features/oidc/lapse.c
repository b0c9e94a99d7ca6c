/* lapse.c - looks for tokens that have lapsed, and ends them. */
#include "features/oidc/lapse.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/change.h"
#include "engine/engine.h"
#include "engine/feature.h"
#include "features/access/identities/identities_store.h"
#include "features/access/users/users_store.h"
#include "features/access/users/vouched.h"

struct lapse {
    struct change change; /* first: apply() and done() get it */
    atomic_bool busy;     /* the writer has it */
    int64_t looked_us;    /* monotonic; 0: never */
};

struct lapse *lapse_new(void)
{
    return NEW(struct lapse);
}

void lapse_free(struct lapse *l)
{
    free(l);
}

static int find_idle(struct db *db, struct arena *arena, struct list *ret, struct error *err)
{
    const int64_t before = clock_wall_us() - (int64_t)LAPSE_DAYS * 24 * 3600 * USEC_PER_SEC;

    return store_identities_idle(db, before, LAPSE_USERS_MAX, arena, ret, err);
}

static int lapse_apply(struct change *change, struct db *db, struct error *err)
{
    ARENA_SCOPED(arena);
    struct list idle;
    int r;

    (void)change;
    r = find_idle(db, &arena, &idle, err);
    for (size_t i = 0; r == 0 && i < idle.n; i++) {
        const struct identity_row *row = &((const struct identity_row *)idle.items)[i];
        const struct user_row user = { .user_id = row->user_id, .email = row->email };

        r = vouched_revoke(db, &user, err);
        if (r == 0)
            log_write(LOG_INFO, "oidc", "tokens of '%.*s' ended: no sign-in for %d days",
                      STR_ARG(row->email), LAPSE_DAYS);
    }
    return r;
}

static void lapse_done(struct change *change, const struct error *err)
{
    struct lapse *l = (struct lapse *)change;

    if (err != NULL)
        log_write(LOG_WARNING, "oidc", "tokens that have lapsed could not be ended: %s", err->text);
    atomic_store(&l->busy, false);
}

int lapse_tick(struct lapse *l, struct engine *e, const struct tick *tick, struct error *err)
{
    ARENA_SCOPED(arena);
    struct list idle = { 0 };
    int r;

    if (atomic_load(&l->busy) || (l->looked_us != 0 && tick->mono_us - l->looked_us <
                                                           (int64_t)LAPSE_PERIOD_S * USEC_PER_SEC))
        return 0;
    l->looked_us = tick->mono_us;
    r = find_idle(engine_watch_db(e), &arena, &idle, err);
    if (r != 0 || idle.n == 0)
        return r;
    if (idle.n == LAPSE_USERS_MAX)
        l->looked_us = 0; /* there may be more */
    l->change = (struct change){ .engine = e,
                                 .topic = CHANGE_USERS,
                                 .administrative = true,
                                 .apply = lapse_apply,
                                 .done = lapse_done };
    atomic_store(&l->busy, true);
    r = change_submit(e, &l->change, err);
    if (r != 0)
        atomic_store(&l->busy, false);
    return r;
}

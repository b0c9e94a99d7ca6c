/* closed.c - deletes the oldest closed alerts of tenants that have very many.
 *
 * Open alerts are bounded by what they are about. Closed ones are bounded here:
 * of each tenant the newest stay. Every ten minutes a round visits the tenants,
 * some per tick; what is one too many is deleted in steps, writer transactions
 * of a few milliseconds, one a second. Several processes may do so at once.
 */
#include "base/clock.h"
#include "base/log.h"
#include "features/access/stored_bytes.h"
#include "features/alerts/store.h"
#include "features/alerts/watch.h"
#include "features/metrics.h"
#include "shape/rows.h"

enum {
    CLOSED_MAX = 100000, /* of a tenant */
    PERIOD_S = 600,      /* between the starts of two rounds */
    SLICE_US = 20000,    /* of a tick, to look for a tenant */
    STEP_ALERTS = 200,   /* deleted per transaction, … */
    STEP_ROWS = 1000,    /* … with their histories … */
    STEP_US = 5000,      /* … and in this time */
};

struct closed_alerts {
    struct watching w;
    int64_t round_us; /* monotonic: when the last round began */
    bool in_round;    /* tenants are left to look at */

    int64_t reached;   /* tenants up to this number are done in this round */
    int64_t tenant_id; /* the one with too many; 0: not known */
    struct str until;  /* its newest alert that goes; in `kept` */
    struct arena kept; /* holds from step to step */
    int64_t deleted;   /* alerts of the last step */
    bool more;         /* that step left some */
};

/* The first tick begins a round. */
static void closed_alerts_begin(struct watching *w, const struct tick *now)
{
    struct closed_alerts *c = CONTAINER_OF(w, struct closed_alerts, w);

    c->round_us = now->mono_us;
    c->in_round = true;
    arena_init(&c->kept);
}

static void closed_alerts_end(struct watching *w)
{
    arena_done(&CONTAINER_OF(w, struct closed_alerts, w)->kept);
}

/* The oldest that go, as many as fit into the step. */
static int delete_some(struct closed_alerts *c, struct txn *txn, const struct rows *oldest,
                       struct error *err)
{
    const struct str *ids = oldest->items;
    int64_t until_us = clock_raw_us() + STEP_US, rows = 0, bytes = 0;
    size_t n = 0;

    while (n < oldest->n && rows < STEP_ROWS && (n == 0 || clock_raw_us() < until_us))
        if (alert_store_closed_delete(txn->db, c->tenant_id, ids[n++], &rows, &bytes, err) != 0)
            return -1;
    stored_bytes_add(stored_bytes_of(txn), c->tenant_id, -bytes);
    c->deleted = (int64_t)n;
    c->more = n < oldest->n || n == STEP_ALERTS;
    return 0;
}

static int closed_alerts_apply(struct watching *w, struct txn *txn, struct error *err)
{
    struct closed_alerts *c = CONTAINER_OF(w, struct closed_alerts, w);
    ARENA_SCOPED(arena);
    struct rows oldest = { .arena = &arena, .size = sizeof(struct str) };

    if (alert_store_closed_oldest(txn->db, c->tenant_id, c->until, STEP_ALERTS, &oldest, err) != 0)
        return -1;
    return delete_some(c, txn, &oldest, err);
}

/* After a failure the next round finds what is left. */
static void closed_alerts_done(struct watching *w, const struct error *err)
{
    struct closed_alerts *c = CONTAINER_OF(w, struct closed_alerts, w);

    if (err == NULL) {
        metric_add(METRIC_DELETED_ALERTS, (uint64_t)c->deleted);
    } else {
        c->more = false;
        log_write(LOG_WARNING, "alerts", "old alerts were not deleted: %s", err->text);
    }
    if (!c->more) {
        c->reached = c->tenant_id;
        c->tenant_id = 0;
    }
}

/* Goes on with the round to the next tenant with too many, as far as the tick's time allows. */
static int find_tenant(struct closed_alerts *c, struct error *err)
{
    int64_t until_us = clock_raw_us() + SLICE_US, next;

    while (c->tenant_id == 0 && clock_raw_us() < until_us) {
        if (alert_store_closed_next_tenant(c->w.env.db, c->reached, &next, err) != 0)
            return -1;
        c->in_round = next != 0;
        if (!c->in_round)
            return 0;
        arena_reset(&c->kept);
        if (alert_store_closed_beyond(c->w.env.db, next, CLOSED_MAX, &c->kept, &c->until, err) != 0)
            return -1;
        if (str_is_null(c->until))
            c->reached = next;
        else
            c->tenant_id = next;
    }
    return 0;
}

static int closed_alerts_find(struct watching *w, const struct tick *now, struct error *err)
{
    struct closed_alerts *c = CONTAINER_OF(w, struct closed_alerts, w);

    if (!c->in_round) {
        if (now->mono_us - c->round_us < (int64_t)PERIOD_S * USEC_PER_SEC)
            return 0;
        c->in_round = true;
        c->round_us = now->mono_us;
        c->reached = 0;
    }
    if (find_tenant(c, err) != 0)
        return -1;
    w->job.tenant_id = c->tenant_id;
    w->job.events = c->tenant_id != 0 ? STEP_ALERTS : 0;
    return 0;
}

const struct watch closed_alerts_watch = {
    .name = "closed alerts",
    .size = sizeof(struct closed_alerts),
    .begin = closed_alerts_begin,
    .find = closed_alerts_find,
    .apply = closed_alerts_apply,
    .done = closed_alerts_done,
    .end = closed_alerts_end,
};

/* threshold_transitions.c - opens, updates and closes the alerts of rules with a limit. */
#include "features/alerts/threshold_transitions.h"

#include <assert.h>
#include <stdlib.h>

#include "engine/txn.h"
#include "features/agents/store.h"
#include "features/alerts/alert_notes.h"
#include "features/alerts/alerts.h"
#include "features/alerts/rules_store.h"

static int open_alert(int64_t now_us, struct db *db, const struct threshold_transition *transition,
                      struct alert_notes *notes, struct error *err)
{
    struct alert_row alert = { .tenant_id = transition->tenant_id,
                               .type = transition->rule_eval.type,
                               .agent_id = transition->rule_eval.agent_id,
                               .agent_name = transition->agent_name,
                               .subject = transition->rule_eval.subject,
                               .since_at = transition->rule_eval.since_at,
                               .opened_at = now_us,
                               .detail = transition->rule_eval.detail };
    const struct alert_notice notice = { &alert, alert.type, transition->rule_eval.summary, notes };
    bool muted, opened, over = false;

    if (transition->rule_eval.until_at != TIME_NULL &&
        store_alert_is_over(db, &alert, transition->rule_eval.until_at, &over, err) != 0)
        return -1;
    if (over) /* closed by a process whose clock is ahead of ours: this period has ended */
        return 0;
    if (store_agent_is_muted(db, alert.tenant_id, alert.agent_id, now_us, &muted, err) != 0)
        return -1;
    alert.notified = !muted;
    return alerts_open(db, &notice, &opened, err);
}

static int close_alert(int64_t now_us, struct db *db, const struct threshold_transition *transition,
                       struct alert_notes *notes, struct error *err)
{
    ARENA_SCOPED(arena);
    struct alert_row alert;
    const struct alert_notice notice = { &alert, transition->rule_eval.recovered,
                                         transition->rule_eval.crossed
                                             ? transition->rule_eval.ended
                                             : transition->rule_eval.summary,
                                         notes };

    if (store_alert(db, transition->tenant_id, transition->alert_id, &arena, &alert, err) != 0)
        return -1;
    alert.closed_at = now_us;
    alert.closed_by = STR_LIT("recovered");
    return alert.open ? alerts_close(db, &notice, err) : 0;
}

static int update_alert(struct db *db, const struct threshold_transition *transition,
                        struct alert_notes *notes, struct error *err)
{
    ARENA_SCOPED(arena);
    struct alert_row alert;

    if (store_alert(db, transition->tenant_id, transition->alert_id, &arena, &alert, err) != 0)
        return -1;
    if (!alert.open)
        return 0;
    alert.detail = transition->rule_eval.detail;
    if (store_alert_detail(db, &alert, err) != 0)
        return -1;
    alert_notes_add_change(notes, &alert);
    return 0;
}

static int change_alerts(int64_t now_us, struct db *db,
                         const struct threshold_transition *transition, struct alert_notes *notes,
                         struct error *err)
{
    if (transition->updates)
        return update_alert(db, transition, notes, err);
    if (!str_is_null(transition->alert_id) && close_alert(now_us, db, transition, notes, err) != 0)
        return -1;
    return transition->rule_eval.crossed ? open_alert(now_us, db, transition, notes, err) : 0;
}

/* An update that asks for a place. */
struct applicant {
    struct threshold_transition *update;
    size_t position; /* in the list */
    uint64_t rank;   /* among those of its tenant */
    uint64_t tenant; /* its place among the tenants */
};

static int compare_by_tenant(const void *a, const void *b)
{
    const struct applicant *x = a, *y = b;

    if (x->update->tenant_id != y->update->tenant_id)
        return x->update->tenant_id < y->update->tenant_id ? -1 : 1;
    return x->position < y->position ? -1 : 1;
}

static int compare_by_rank(const void *a, const void *b)
{
    const struct applicant *x = a, *y = b;

    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->tenant < y->tenant ? -1 : 1;
}

static int compare_by_position(const void *a, const void *b)
{
    const struct applicant *x = a, *y = b;

    return x->position < y->position ? -1 : 1;
}

/* The end of those of the tenant at `begin`. */
static size_t end_of_tenant(const struct applicant *all, size_t n, size_t begin)
{
    size_t end = begin + 1;

    while (end < n && all[end].update->tenant_id == all[begin].update->tenant_id)
        end++;
    return end;
}

/* They are sorted by tenant. Ranks turn by as many as a tenant has places in a round. */
static void rank(struct applicant *all, size_t n, size_t max, uint64_t round)
{
    uint64_t n_tenants = 0, tenant = 0, places;

    for (size_t i = 0; i < n; i = end_of_tenant(all, n, i))
        n_tenants++;
    places = max / n_tenants > 0 ? max / n_tenants : 1;
    for (size_t i = 0, end; i < n; i = end, tenant++) {
        end = end_of_tenant(all, n, i);
        for (size_t k = i; k < end; k++) {
            all[k].rank = (k - i + round * places) % (end - i);
            all[k].tenant = (tenant + round * max) % n_tenants;
        }
    }
}

struct threshold_transition *threshold_updates_choose(struct threshold_transition *first,
                                                      size_t max, uint64_t round,
                                                      struct arena *arena)
{
    struct threshold_transition *chosen = NULL, **last = &chosen;
    struct applicant *all;
    size_t n = 0;

    for (const struct threshold_transition *t = first; t != NULL; t = t->next)
        n++;
    assert(max > 0 && n > max);
    all = ARENA_ARRAY(arena, struct applicant, n);
    n = 0;
    for (struct threshold_transition *t = first; t != NULL; t = t->next, n++)
        all[n] = (struct applicant){ .update = t, .position = n };
    qsort(all, n, sizeof(*all), compare_by_tenant);
    rank(all, n, max, round);
    qsort(all, n, sizeof(*all), compare_by_rank);
    /* processes that lock the same rows lock them in one order */
    qsort(all, max, sizeof(*all), compare_by_position);
    for (size_t i = 0; i < max; i++) {
        *last = all[i].update;
        last = &all[i].update->next;
    }
    *last = NULL;
    return chosen;
}

int threshold_transitions_apply(const struct threshold_transition *first, int64_t now_us,
                                struct txn *txn, struct error *err)
{
    for (const struct threshold_transition *t = first; t != NULL; t = t->next) {
        int64_t version;

        if (store_alert_rules_hold(txn->db, t->tenant_id, &version, err) != 0)
            return -1;
        if (version == t->version && change_alerts(now_us, txn->db, t, txn->notes, err) != 0)
            return -1;
    }
    return 0;
}

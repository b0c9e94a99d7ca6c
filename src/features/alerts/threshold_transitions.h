/* threshold_transitions.h - what the evaluation of rules with a limit changes about alerts.
 *
 * The evaluation makes them on a reader; the writer applies them.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/alerts/rule_eval.h"

struct txn;

/* A request to the writer: close the open alert, open one, or both, when the new period is over its
 * budget as the last one was; or bring the open alert's value up to date. */
struct threshold_transition {
    struct threshold_transition *next;
    int64_t tenant_id, version; /* of the rules that were evaluated */
    struct rule_eval rule_eval;
    struct str agent_name; /* STR_NULL: not about one agent */
    struct str alert_id;   /* of the open alert; STR_NULL: no alert is open */
    bool updates;          /* it stays open, with another value */
};

/* `max` of more updates than that, in the same order: as many of each tenant as possible. Those of
 * another round begin with other tenants and other rules, so each has its turn. */
struct threshold_transition *threshold_updates_choose(struct threshold_transition *first,
                                                      size_t max, uint64_t round,
                                                      struct arena *arena);

/* In the writer's transaction. Those of rules that have changed since are left out: the next round
 * evaluates the new ones. */
int threshold_transitions_apply(const struct threshold_transition *first, int64_t now_us,
                                struct txn *txn, struct error *err) MUST_CHECK;

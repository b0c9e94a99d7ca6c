/* rule_eval.h - evaluates limits: of KPIs, budgets and their forecasts, failure rates and
 * durations.
 *
 * A KPI without values in its range is unknown: no alert opens and an open one
 * stays open. Except for a sum, which counts as zero if only `above` is set, or
 * if runs completed in the range. So is a failure rate or a duration before
 * enough runs have ended.
 *
 * One thread at a time.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/alerts/rule_shapes.h"

struct db;
struct prices;

/* Whose rules, at what time, and the arena for the results. */
struct rule_eval_reader {
    struct db *db;
    struct prices *prices;
    int64_t tenant_id;
    int64_t now;
    struct arena *arena;
};

struct rule_eval {
    bool known, crossed;        /* crossed: beyond a limit */
    struct str type, recovered; /* message types */
    struct str subject;
    int64_t agent_id;   /* 0: not about one agent */
    int64_t since_at;   /* start of the evaluated period; without one, the time of evaluation */
    int64_t until_at;   /* end of the period; TIME_NULL: only a budget has one */
    struct str summary; /* a sentence for people */
    struct str ended;   /* summary when the alert of an earlier period closes */
    struct str detail;  /* a JSON object */
};

/* Each of a rule of its kind (rule_shapes.h). */
typedef int rule_eval_fn(const struct rule_eval_reader *r, const void *rule, struct rule_eval *ret,
                         struct error *err);

rule_eval_fn rule_eval_kpi, rule_eval_budget, rule_eval_failure_rate, rule_eval_duration;

/* Of a monthly budget; unknown for a daily one, and while it is a little below the budget: but the
 * alert of an earlier month closes then too. */
rule_eval_fn rule_eval_forecast;

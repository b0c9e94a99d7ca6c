/* rules.h - a tenant's alert rules: shown, replaced, and read from storage. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/alerts/shapes.h"

struct alert_row;
struct alert_rules_row;
struct db;
struct prices;
struct txn;

/* Closes an open alert whose rule was removed: published to live updates, not sent to webhooks. */
int alert_rules_close(struct txn *txn, struct alert_row *alert, struct error *err) MUST_CHECK;

/* A stored row as rules, in the arena; the defaults if the tenant has not set any. */
int alert_rules_read(const struct alert_rules_row *row, struct arena *arena,
                     struct alert_rules *ret, struct error *err) MUST_CHECK;

/* The alert subject that identifies a rule: the same for the same rule, paused or not. `identity`
 * is the shape of what makes it the same (rule_shapes.h). */
struct str alert_rules_subject(const struct shape *identity, const void *rule, struct arena *arena);

struct str alert_rules_json(const struct shape *shape, const void *value, struct arena *arena);

/* Evaluation of a rule: KPIs, budgets and their forecasts, failure rates and durations.
 *
 * A KPI without values in its range is unknown: no alert opens and an open one stays open. Except
 * for a sum, which counts as zero if only `above` is set, or if runs completed in the range. So is
 * a failure rate or a duration before enough runs have ended. */

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

/* A rule with a limit, whatever its kind. */
struct limit_rule {
    const void *rule;
    const struct shape *identity;
    rule_eval_fn *eval;
    struct str agent_name; /* STR_NULL: not about one agent */
    bool paused;
};

/* In the order of their lists, budgets twice: what was spent, and the forecast. A list of struct
 * limit_rule in the arena; they point into the rules. */
struct list alert_rules_limits(const struct alert_rules *rules, struct arena *arena);

/* rule_eval.h - evaluates KPI limits and budgets.
 *
 * A KPI without a value in its range is unknown, and its open alert stays open.
 * A sum without values counts as zero if only `above` is set, or if runs
 * completed in the range.
 *
 * One thread at a time.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
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
    int64_t since_at;   /* start of the evaluated period; for a KPI, the time of evaluation */
    int64_t until_at;   /* end of the period; TIME_NULL: a KPI has no period */
    struct str summary; /* a sentence for people */
    struct str ended;   /* summary for closing the alert of the previous period */
    struct str detail;  /* a JSON object */
};

int rule_eval_kpi(const struct rule_eval_reader *reader, const struct kpi_rule *rule,
                  struct rule_eval *ret, struct error *err) MUST_CHECK;
int rule_eval_budget(const struct rule_eval_reader *reader, const struct budget_rule *rule,
                     struct rule_eval *ret, struct error *err) MUST_CHECK;

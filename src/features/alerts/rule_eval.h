/* rule_eval.h - is a KPI within its bounds, is a budget kept?
 *
 * A KPI without a number in its range has no judgement, and what is open stays
 * so; but for a sum nothing is zero: always where it is only bounded from
 * above, and where it is bounded from below if runs completed in the range.
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

/* For whom, when, and into which memory. */
struct rule_eval_reader {
    struct db *db;
    struct prices *prices;
    int64_t tenant_id;
    int64_t now;
    struct arena *arena;
};

struct rule_eval {
    bool known, crossed;
    struct str type, recovered; /* of the messages */
    struct str subject;
    int64_t agent_id;   /* 0: of no one agent */
    int64_t since_at;   /* when what is judged began */
    int64_t until_at;   /* when the period ends that is judged; TIME_NULL: it is none */
    struct str summary; /* a sentence for people */
    struct str ended;   /* another, when the period before has ended like this one began */
    struct str detail;  /* a JSON object */
};

int rule_eval_kpi(const struct rule_eval_reader *reader, const struct kpi_rule *rule,
                  struct rule_eval *ret, struct error *err) MUST_CHECK;
int rule_eval_budget(const struct rule_eval_reader *reader, const struct budget_rule *rule,
                     struct rule_eval *ret, struct error *err) MUST_CHECK;

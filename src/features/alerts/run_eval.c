/* run_eval.c - evaluates limits for the last runs: how many failed, and how long they took. */
#include "features/alerts/rule_eval.h"

#include <stdlib.h>

#include "features/agents/store.h"
#include "features/alerts/failing_store.h"
#include "features/alerts/rule_detail.h"
#include "features/alerts/rules.h"
#include "shape/utf8.h"

enum { NAME_BYTES = 200 }; /* of a name in a sentence */

/* Whose runs are looked at, and how many of the last ones. */
struct scope {
    struct str agent_name; /* STR_NULL: of all agents */
    int64_t n;
    int64_t agent_id; /* 0: of all agents */
    bool off;         /* the agent is unknown, deleted or disabled */
    struct str of;    /* " of agent 'x'", or empty */
    struct list runs; /* of struct finished_run */
};

static int find_agent(const struct rule_eval_reader *reader, struct scope *scope, struct error *err)
{
    const struct str name = utf8_cut(scope->agent_name, NAME_BYTES);

    scope->of = STR_LIT("");
    if (str_is_null(scope->agent_name))
        return 0;
    scope->of = arena_printf(reader->arena, " of agent '%.*s'", STR_ARG(name));
    if (store_agent_id(reader->db, reader->tenant_id, scope->agent_name, &scope->agent_id, err) !=
        0)
        return -1;
    scope->off = scope->agent_id == 0;
    return scope->off ? 0
                      : store_agent_is_off(reader->db, reader->tenant_id, scope->agent_id,
                                           &scope->off, err);
}

/* Fewer runs than asked for: there is no verdict yet. When the agent is off, the verdict is that
 * nothing is wrong. */
static int read_runs(const struct rule_eval_reader *reader, struct scope *scope,
                     struct rule_eval *ret, struct error *err)
{
    struct finished_runs of = { reader->tenant_id, 0, scope->n, false };
    bool more;

    if (find_agent(reader, scope, err) != 0)
        return -1;
    ret->since_at = reader->now;
    ret->until_at = TIME_NULL;
    ret->detail = STR_LIT("{}");
    ret->known = scope->off;
    if (scope->off) {
        ret->summary =
            arena_printf(reader->arena, "Runs%.*s are not watched: it is disabled or deleted",
                         STR_ARG(scope->of));
        return 0;
    }
    of.agent_id = ret->agent_id = scope->agent_id;
    if (store_finished_runs(reader->db, &of, reader->arena, &scope->runs, &more, err) != 0)
        return -1;
    ret->known = scope->runs.n == (size_t)scope->n;
    return 0;
}

int rule_eval_failure_rate(const struct rule_eval_reader *reader,
                           const struct failure_rate_rule *rule, struct rule_eval *ret,
                           struct error *err)
{
    const struct finished_run *runs;
    struct scope scope = { .agent_name = rule->agent_name, .n = rule->runs };
    int64_t failed = 0;
    struct str limit;

    *ret = (struct rule_eval){ .type = STR_LIT("failure_rate.exceeded"),
                               .recovered = STR_LIT("failure_rate.recovered"),
                               .subject = alert_rules_subject(&failure_rate_rule_identity, rule,
                                                              reader->arena) };
    if (read_runs(reader, &scope, ret, err) != 0)
        return -1;
    if (!ret->known || scope.off)
        return 0;
    runs = scope.runs.items;
    for (size_t i = 0; i < scope.runs.n; i++)
        failed += runs[i].failed;
    ret->crossed = (double)failed * 100 > rule->percent * (double)scope.runs.n;
    limit = rule_number_text(rule->percent, reader->arena);
    ret->summary =
        arena_printf(reader->arena, "%lld of the last %lld runs%.*s failed (limit %.*s %%)",
                     (long long)failed, (long long)rule->runs, STR_ARG(scope.of), STR_ARG(limit));
    ret->detail =
        rule_detail(&failure_rate_rule_identity, rule, "failed",
                    arena_printf(reader->arena, "%lld", (long long)failed), reader->arena);
    return 0;
}

static int compare_durations(const void *a, const void *b)
{
    const int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

    return left < right ? -1 : left > right;
}

/* By nearest rank: the smallest duration that this share of the runs does not exceed. */
static double percentile_of(const struct list *list, int64_t percentile, struct arena *arena)
{
    const struct finished_run *runs = list->items;
    int64_t *sorted = ARENA_ARRAY(arena, int64_t, list->n);
    const size_t rank = (list->n * (size_t)percentile + 99) / 100;

    for (size_t i = 0; i < list->n; i++)
        sorted[i] = runs[i].duration_ms;
    qsort(sorted, list->n, sizeof(*sorted), compare_durations);
    return (double)sorted[rank - 1] / 1000;
}

int rule_eval_duration(const struct rule_eval_reader *reader, const struct duration_rule *rule,
                       struct rule_eval *ret, struct error *err)
{
    struct scope scope = { .agent_name = rule->agent_name, .n = rule->runs };
    struct str value, limit;
    double seconds;

    *ret = (struct rule_eval){ .type = STR_LIT("duration.exceeded"),
                               .recovered = STR_LIT("duration.recovered"),
                               .subject = alert_rules_subject(&duration_rule_identity, rule,
                                                              reader->arena) };
    if (read_runs(reader, &scope, ret, err) != 0)
        return -1;
    if (!ret->known || scope.off)
        return 0;
    seconds = percentile_of(&scope.runs, rule->percentile, reader->arena);
    ret->crossed = seconds > rule->seconds;
    value = rule_number_text(seconds, reader->arena);
    limit = rule_number_text(rule->seconds, reader->arena);
    ret->summary = arena_printf(
        reader->arena, "p%lld of the duration of the last %lld runs%.*s is %.*s s (limit %.*s s)",
        (long long)rule->percentile, (long long)rule->runs, STR_ARG(scope.of), STR_ARG(value),
        STR_ARG(limit));
    ret->detail = rule_detail(&duration_rule_identity, rule, "value", value, reader->arena);
    return 0;
}

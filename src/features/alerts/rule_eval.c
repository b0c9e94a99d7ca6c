/* rule_eval.c - evaluates KPI rules. */
#include "features/alerts/rule_eval.h"

#include <math.h>

#include "features/agents/store.h"
#include "features/alerts/rule_detail.h"
#include "features/alerts/rules.h"
#include "features/alerts/rules_store.h"
#include "features/kpis/kpis.h"
#include "shape/utf8.h"

enum { NAME_BYTES = 200 }; /* of a name in a sentence */

static int has_completed(const struct rule_eval_reader *reader, const struct kpi_question *question,
                         int64_t agent_id, bool *ret, struct error *err)
{
    const struct completed_runs runs = { reader->tenant_id, agent_id, question->range.since,
                                         question->range.until };

    return store_completed_runs(reader->db, &runs, ret, err);
}

/* Unknown (agent_id < 0), deleted or disabled agent? */
static int is_agent_off(const struct rule_eval_reader *reader, int64_t agent_id, bool *ret,
                        struct error *err)
{
    *ret = agent_id < 0;
    if (agent_id <= 0)
        return 0;
    return store_agent_is_off(reader->db, reader->tenant_id, agent_id, ret, err);
}

/* The KPI's value; *ret_known is false when there is no value. */
static int find_value(const struct rule_eval_reader *reader, const struct kpi_rule *rule,
                      const struct kpi_question *question, struct kpi_value_of *figure,
                      bool *ret_known, struct error *err)
{
    if (kpis_value(
            &(struct kpi_reader){ reader->db, reader->tenant_id, reader->now, reader->arena, NULL },
            question, figure, err) != 0)
        return -1;
    *ret_known = figure->has;
    if (figure->has || !figure->is_sum)
        return 0;
    figure->value = 0;
    *ret_known = isnan(rule->below);
    return *ret_known ? 0 : has_completed(reader, question, figure->agent_id, ret_known, err);
}

/* Compares the value with the limits, in words. */
static struct str kpi_verdict(const struct kpi_rule *rule, double value, struct arena *arena)
{
    const bool below = value < rule->below;
    struct str limit;

    if (!below && !(value > rule->above))
        return STR_LIT("within its limits again");
    limit = rule_number_text(below ? rule->below : rule->above, arena);
    return arena_printf(arena, "%s %.*s", below ? "below" : "above", STR_ARG(limit));
}

static struct str kpi_summary(const struct kpi_rule *rule, double value, struct arena *arena)
{
    const struct str key = utf8_cut(rule->key, NAME_BYTES), number = rule_number_text(value, arena);
    const struct str verdict = kpi_verdict(rule, value, arena);
    const struct str name = utf8_cut(rule->agent_name, NAME_BYTES);
    struct str whose = STR_LIT("");

    if (!str_is_null(rule->agent_name))
        whose = arena_printf(arena, " of agent '%.*s'", STR_ARG(name));
    return arena_printf(arena, "KPI '%.*s'%.*s over the last %.*s is %.*s, %.*s", STR_ARG(key),
                        STR_ARG(whose), STR_ARG(rule->range), STR_ARG(number), STR_ARG(verdict));
}

int rule_eval_kpi(const struct rule_eval_reader *reader, const struct kpi_rule *rule,
                  struct rule_eval *ret, struct error *err)
{
    struct kpi_question question = { .key = rule->key,
                                     .agent_name = rule->agent_name,
                                     .range = { .until = reader->now } };
    const char *problem = timerange_parse_moment(rule->range, reader->now, &question.range.since);
    const struct str name = utf8_cut(rule->agent_name, NAME_BYTES);
    struct kpi_value_of figure;
    bool off;

    *ret =
        (struct rule_eval){ .type = STR_LIT("kpi.crossed"),
                            .recovered = STR_LIT("kpi.recovered"),
                            .subject = alert_rules_subject(&kpi_rule_identity, rule, reader->arena),
                            .since_at = reader->now,
                            .until_at = TIME_NULL };
    if (problem != NULL)
        return err_set(err, ERR_INTERNAL, "invalid range in a stored KPI rule: %s", problem);
    if (find_value(reader, rule, &question, &figure, &ret->known, err) != 0 ||
        is_agent_off(reader, figure.agent_id, &off, err) != 0)
        return -1;
    if (off) {
        ret->known = true;
        ret->summary =
            arena_printf(reader->arena, "Agent '%.*s' is disabled or deleted", STR_ARG(name));
        ret->detail = STR_LIT("{}");
        return 0;
    }
    /* a limit that is not set is NaN, and both comparisons are false */
    ret->crossed = figure.value < rule->below || figure.value > rule->above;
    ret->agent_id = figure.agent_id;
    ret->summary = kpi_summary(rule, figure.value, reader->arena);
    ret->detail = rule_detail(&kpi_rule_identity, rule, "value",
                              rule_number_text(figure.value, reader->arena), reader->arena);
    return 0;
}

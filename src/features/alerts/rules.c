/* rules.c - a tenant's alert rules: shown, replaced, and as a row. */
#include "features/alerts/rules.h"

#include <stddef.h>
#include <string.h>

#include "api/call.h"
#include "base/clock.h"
#include "base/digest.h"
#include "engine/txn.h"
#include "features/access/shapes.h"
#include "features/alerts/alerts.h"
#include "features/alerts/store.h"
#include "shape/problems.h"
#include "shape/rows.h"

struct str alert_rules_json(const struct shape *shape, const void *value, struct arena *arena)
{
    BUF_SCOPED(out, SIZE_MAX); /* bounded: the value was validated */

    shape_write_json(shape, value, &out);
    return buf_take(&out, arena);
}

struct str alert_rules_subject(const struct shape *identity, const void *rule, struct arena *arena)
{
    struct sha256 digest = digest_sha256(alert_rules_json(identity, rule, arena));
    char text[BASE64URL_LEN + 1];

    digest_base64url(digest.bytes, text);
    return arena_copy(arena, str_from(text, BASE64URL_LEN));
}

int alert_rules_read(const struct alert_rules_row *row, struct arena *arena,
                     struct alert_rules *ret, struct error *err)
{
    struct str json = str_is_null(row->rules) ? STR_LIT("{}") : row->rules;

    if (shape_read_json(&alert_rules_shape, json, arena, ret, problems_new(arena, "body")) != 0)
        return err_set(err, ERR_INTERNAL, "stored alert rules of tenant %lld are invalid",
                       (long long)row->tenant_id);
    return 0;
}

/* The kinds of rules with a limit; budgets are two, since each has a forecast. */
static const struct {
    size_t list, size, agent_name, paused; /* in the rules, and of one and in one */
    const struct shape *identity;
    rule_eval_fn *eval;
} kinds[] = {
    { offsetof(struct alert_rules, kpis), sizeof(struct kpi_rule),
      offsetof(struct kpi_rule, agent_name), offsetof(struct kpi_rule, paused), &kpi_rule_identity,
      rule_eval_kpi },
    { offsetof(struct alert_rules, budgets), sizeof(struct budget_rule),
      offsetof(struct budget_rule, agent_name), offsetof(struct budget_rule, paused),
      &budget_rule_identity, rule_eval_budget },
    { offsetof(struct alert_rules, budgets), sizeof(struct budget_rule),
      offsetof(struct budget_rule, agent_name), offsetof(struct budget_rule, paused),
      &budget_rule_identity, rule_eval_forecast },
    { offsetof(struct alert_rules, failure_rates), sizeof(struct failure_rate_rule),
      offsetof(struct failure_rate_rule, agent_name), offsetof(struct failure_rate_rule, paused),
      &failure_rate_rule_identity, rule_eval_failure_rate },
    { offsetof(struct alert_rules, durations), sizeof(struct duration_rule),
      offsetof(struct duration_rule, agent_name), offsetof(struct duration_rule, paused),
      &duration_rule_identity, rule_eval_duration },
};

struct list alert_rules_limits(const struct alert_rules *rules, struct arena *arena)
{
    struct rows limits = { .arena = arena, .size = sizeof(struct limit_rule) };

    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        const struct list *list = (const void *)((const char *)rules + kinds[k].list);

        for (size_t i = 0; i < list->n; i++) {
            const char *rule = (const char *)list->items + i * kinds[k].size;
            struct limit_rule *limit = rows_add(&limits);

            *limit = (struct limit_rule){ .rule = rule,
                                          .identity = kinds[k].identity,
                                          .eval = kinds[k].eval };
            memcpy(&limit->agent_name, rule + kinds[k].agent_name, sizeof(limit->agent_name));
            memcpy(&limit->paused, rule + kinds[k].paused, sizeof(limit->paused));
        }
    }
    return (struct list){ limits.items, limits.n };
}

/* The subjects of the rules that are not paused: a list of struct str. */
static struct list active_subjects(const struct alert_rules *rules, struct arena *arena)
{
    const struct list list = alert_rules_limits(rules, arena);
    const struct limit_rule *limits = list.items;
    struct rows subjects = { .arena = arena, .size = sizeof(struct str) };

    for (size_t i = 0; i < list.n; i++)
        if (!limits[i].paused)
            *(struct str *)rows_add(&subjects) =
                alert_rules_subject(limits[i].identity, limits[i].rule, arena);
    return (struct list){ subjects.items, subjects.n };
}

static int64_t count_hard(const struct alert_rules *rules)
{
    const struct budget_rule *budgets = rules->budgets.items;
    int64_t n = 0;

    for (size_t i = 0; i < rules->budgets.n; i++)
        n += budgets[i].hard && !budgets[i].paused;
    return n;
}

static bool has_subject(const struct list *active, struct str subject)
{
    const struct str *subjects = active->items;

    for (size_t i = 0; i < active->n; i++)
        if (str_eq(subject, subjects[i]))
            return true;
    return false;
}

int alert_rules_close(struct txn *txn, struct alert_row *alert, struct error *err)
{
    const struct alert_notice notice = { .row = alert };

    alert->closed_at = clock_wall_us();
    alert->closed_by = STR_LIT("rule");
    return alerts_close(txn, &notice, err);
}

/* Closes the alerts of a list but those of rules that are still evaluated. */
static int close_others(struct txn *txn, const struct list *list, const struct list *active,
                        struct error *err)
{
    struct alert_row *alerts = list->items;

    for (size_t i = 0; i < list->n; i++)
        if (!has_subject(active, alerts[i].subject) && alert_rules_close(txn, &alerts[i], err) != 0)
            return -1;
    return 0;
}

/* A budget that becomes hard, or soft, keeps its alert, whose detail budget_stops.c goes by. */
static int update_hard(struct txn *txn, struct alert_row *alert, bool hard, struct arena *arena,
                       struct error *err)
{
    struct budget_detail detail;

    if (shape_read_json(&budget_detail_shape, alert->detail, arena, &detail,
                        problems_new(arena, "detail")) != 0)
        return err_set(err, ERR_INTERNAL, "the detail of alert %.*s is damaged",
                       STR_ARG(alert->alert_id));
    if (detail.hard.has == hard)
        return 0;
    detail.hard = (struct opt_bool){ hard, true };
    return alerts_set_detail(txn, alert, alert_rules_json(&budget_detail_shape, &detail, arena),
                             err);
}

static int update_budgets(struct txn *txn, const struct alert_rules *rules,
                          const struct list *alerts, struct arena *arena, struct error *err)
{
    const struct budget_rule *budgets = rules->budgets.items;
    struct alert_row *rows = alerts->items;

    for (size_t b = 0; b < rules->budgets.n; b++) {
        const struct str subject = alert_rules_subject(&budget_rule_identity, &budgets[b], arena);

        for (size_t i = 0; i < alerts->n; i++)
            if (rows[i].open && str_eq(rows[i].subject, subject) &&
                update_hard(txn, &rows[i], budgets[b].hard, arena, err) != 0)
                return -1;
    }
    return 0;
}

/* Alerts of removed rules are closed without a message. */
static int replace_rules(struct txn *txn, int64_t tenant_id, const struct alert_rules *rules,
                         struct arena *arena, struct error *err)
{
    struct db *db = txn->db;
    const struct list active = active_subjects(rules, arena);
    const struct alert_rules_row row = { .tenant_id = tenant_id,
                                         .run_failed = rules->run_failed,
                                         .run_stuck = rules->run_stuck,
                                         .thresholds = (int64_t)active.n,
                                         .hard_budgets = count_hard(rules),
                                         .remind_hours = rules->reminder_hours,
                                         .updated_at = clock_wall_us(),
                                         .rules =
                                             alert_rules_json(&alert_rules_shape, rules, arena) };

    const struct list none = { 0 };
    struct list failing, crossed;

    if (alert_store_rules_set(db, &row, err) != 0)
        return -1;
    /* alerts on failed runs were switched off: at most one is open per agent */
    if (!rules->run_failed && (alert_store_of_failing(db, tenant_id, arena, &failing, err) != 0 ||
                               close_others(txn, &failing, &none, err) != 0))
        return -1;
    if (alert_store_of_thresholds(db, tenant_id, arena, &crossed, err) != 0)
        return -1;
    if (close_others(txn, &crossed, &active, err) != 0)
        return -1;
    return update_budgets(txn, rules, &crossed, arena, err);
}

static int show_rules(struct api_call *call, struct db *db, struct error *err)
{
    struct alert_rules_row row;

    if (alert_store_rules_get(db, call->tenant_id, call->arena, &row, err) != 0)
        return -1;
    return alert_rules_read(&row, call->arena, call->answer, err);
}

static int set_rules(struct api_call *call, struct db *db, struct error *err)
{
    const struct alert_rules *rules = call->body;

    call->audit_detail =
        arena_printf(call->arena,
                     "{\"run_failed\":%s,\"run_stuck\":%s,\"kpis\":%zu,\"budgets\":%zu,"
                     "\"failure_rates\":%zu,\"durations\":%zu}",
                     rules->run_failed ? "true" : "false", rules->run_stuck ? "true" : "false",
                     rules->kpis.n, rules->budgets.n, rules->failure_rates.n, rules->durations.n);
    if (replace_rules(call->change.write.txn, call->tenant_id, rules, call->arena, err) != 0)
        return -1;
    return show_rules(call, db, err);
}

/* clang-format off */
const struct route rule_routes[] = {
    { ROUTE(GET, "/api/v1/tenants/{slug}/rules", MEMBER, 200), .read = show_rules, .params = &tenant_path_shape, .answer = &alert_rules_shape,
      .id = "get_alert_rules", .summary = "Get a workspace's alert rules",
      .description = "Which alerts are raised beside those for silent agents." },
    { ROUTE(PUT, "/api/v1/tenants/{slug}/rules", ADMIN, 200), .change = set_rules, .params = &tenant_path_shape, .body = &alert_rules_shape, .answer = &alert_rules_shape, .audit = "rules.set",
      .id = "set_alert_rules", .summary = "Replace a workspace's alert rules",
      .description = "Members that are left out get their defaults. Alerts of a rule that is removed are closed without a message." },
    { 0 },
};
/* clang-format on */

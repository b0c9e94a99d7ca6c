/* rules.c - converts a tenant's rules between the API's shape and a row. */
#include "features/alerts/rules.h"

#include "base/clock.h"
#include "base/digest.h"
#include "features/alerts/alert_notes.h"
#include "features/alerts/rules_store.h"
#include "features/alerts/store.h"
#include "shape/problems.h"

static struct str json_of(const struct shape *shape, const void *value, struct arena *arena)
{
    BUF_SCOPED(out, SIZE_MAX); /* bounded: the value was validated */

    shape_write_json(shape, value, &out);
    return buf_take(&out, arena);
}

struct str alert_rules_subject(const struct shape *identity, const void *rule, struct arena *arena)
{
    struct sha256 digest = digest_sha256(json_of(identity, rule, arena));
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

int alert_rules_show(struct db *db, int64_t tenant_id, struct arena *arena, struct alert_rules *ret,
                     struct error *err)
{
    struct alert_rules_row row;

    if (store_alert_rules(db, tenant_id, arena, &row, err) != 0)
        return -1;
    return alert_rules_read(&row, arena, ret, err);
}

/* The subjects of the rules that are evaluated: an array of struct str. */
static struct list active_subjects(const struct alert_rules *rules, struct arena *arena)
{
    const struct kpi_rule *kpis = rules->kpis.items;
    const struct budget_rule *budgets = rules->budgets.items;
    const struct failure_rate_rule *rates = rules->failure_rates.items;
    const struct duration_rule *durations = rules->durations.items;
    struct str *subjects = ARENA_ARRAY(arena, struct str,
                                       rules->kpis.n + rules->budgets.n + rules->failure_rates.n +
                                           rules->durations.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < rules->kpis.n; i++)
        if (!kpis[i].paused)
            subjects[n++] = alert_rules_subject(&kpi_rule_identity, &kpis[i], arena);
    for (size_t i = 0; i < rules->budgets.n; i++)
        if (!budgets[i].paused)
            subjects[n++] = alert_rules_subject(&budget_rule_identity, &budgets[i], arena);
    for (size_t i = 0; i < rules->failure_rates.n; i++)
        if (!rates[i].paused)
            subjects[n++] = alert_rules_subject(&failure_rate_rule_identity, &rates[i], arena);
    for (size_t i = 0; i < rules->durations.n; i++)
        if (!durations[i].paused)
            subjects[n++] = alert_rules_subject(&duration_rule_identity, &durations[i], arena);
    return (struct list){ subjects, n };
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

int alert_rules_close(struct db *db, struct alert_row *alert, struct alert_notes *notes,
                      struct error *err)
{
    bool closed;

    alert->closed_at = clock_wall_us();
    alert->closed_by = STR_LIT("rule");
    if (store_alert_close(db, alert, &closed, err) != 0)
        return -1;
    alert->open = false;
    if (closed)
        alert_notes_add(notes, alert);
    return 0;
}

/* Closes the alerts of a list but those of rules that are still evaluated. */
static int close_others(struct db *db, const struct list *list, const struct list *active,
                        struct alert_notes *notes, struct error *err)
{
    struct alert_row *alerts = list->items;

    for (size_t i = 0; i < list->n; i++)
        if (!has_subject(active, alerts[i].subject) &&
            alert_rules_close(db, &alerts[i], notes, err) != 0)
            return -1;
    return 0;
}

int alert_rules_set(struct db *db, int64_t tenant_id, const struct alert_rules *rules,
                    struct alert_notes *notes, struct arena *arena, struct error *err)
{
    const struct list active = active_subjects(rules, arena);
    const struct alert_rules_row row = { .tenant_id = tenant_id,
                                         .run_failed = rules->run_failed,
                                         .run_stuck = rules->run_stuck,
                                         .thresholds = (int64_t)active.n,
                                         .hard_budgets = count_hard(rules),
                                         .remind_hours = rules->reminder_hours,
                                         .updated_at = clock_wall_us(),
                                         .rules = json_of(&alert_rules_shape, rules, arena) };

    const struct list none = { 0 };
    struct list failing, crossed;

    if (store_alert_rules_set(db, &row, err) != 0)
        return -1;
    /* alerts on failed runs were switched off: at most one is open per agent */
    if (!rules->run_failed && (store_alerts_of_failing(db, tenant_id, arena, &failing, err) != 0 ||
                               close_others(db, &failing, &none, notes, err) != 0))
        return -1;
    if (store_alerts_of_thresholds(db, tenant_id, arena, &crossed, err) != 0)
        return -1;
    return close_others(db, &crossed, &active, notes, err);
}

/* rules.c - converts a tenant's rules between the API's shape and a row. */
#include "features/alerts/rules.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "features/alerts/alert_notes.h"
#include "features/alerts/rules_store.h"
#include "features/alerts/store.h"
#include "shape/problems.h"

static struct str json_of(const struct shape *shape, const void *value, struct arena *arena)
{
    struct str text;
    struct buf out;

    buf_init(&out, SIZE_MAX); /* bounded: the value was validated */
    shape_write_json(shape, value, &out);
    text = arena_copy(arena, buf_str(&out));
    buf_done(&out);
    return text;
}

static struct str subject_of(const struct shape *shape, const void *rule, struct arena *arena)
{
    struct sha256 digest = digest_sha256(json_of(shape, rule, arena));
    char text[BASE64URL_LEN + 1];

    digest_base64url(digest.bytes, text);
    return arena_copy(arena, str_from(text, BASE64URL_LEN));
}

struct str alert_rules_kpi_subject(const struct kpi_rule *rule, struct arena *arena)
{
    return subject_of(&kpi_rule_shape, rule, arena);
}

struct str alert_rules_budget_subject(const struct budget_rule *rule, struct arena *arena)
{
    return subject_of(&budget_rule_shape, rule, arena);
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

static bool has_subject(const struct alert_rules *rules, struct str subject, struct arena *arena)
{
    const struct kpi_rule *kpis = rules->kpis.items;
    const struct budget_rule *budgets = rules->budgets.items;

    for (size_t i = 0; i < rules->kpis.n; i++)
        if (str_eq(subject, alert_rules_kpi_subject(&kpis[i], arena)))
            return true;
    for (size_t i = 0; i < rules->budgets.n; i++)
        if (str_eq(subject, alert_rules_budget_subject(&budgets[i], arena)))
            return true;
    return false;
}

static int close_alerts_of_removed_rules(struct db *db, int64_t tenant_id,
                                         const struct alert_rules *rules, struct alert_notes *notes,
                                         struct arena *arena, struct error *err)
{
    struct alert_row *alerts;
    struct list list;
    bool closed;

    if (store_alerts_of_thresholds(db, tenant_id, arena, &list, err) != 0)
        return -1;
    alerts = list.items;
    for (size_t i = 0; i < list.n; i++) {
        if (has_subject(rules, alerts[i].subject, arena))
            continue;
        alerts[i].closed_at = clock_wall_us();
        alerts[i].closed_by = STR_LIT("rule");
        if (store_alert_close(db, &alerts[i], &closed, err) != 0)
            return -1;
        alerts[i].open = false;
        if (closed)
            alert_notes_add(notes, &alerts[i]);
    }
    return 0;
}

int alert_rules_set(struct db *db, int64_t tenant_id, const struct alert_rules *rules,
                    struct alert_notes *notes, struct arena *arena, struct error *err)
{
    const struct alert_rules_row row = { .tenant_id = tenant_id,
                                         .run_failed = rules->run_failed,
                                         .run_stuck = rules->run_stuck,
                                         .thresholds = (int64_t)(rules->kpis.n + rules->budgets.n),
                                         .updated_at = clock_wall_us(),
                                         .rules = json_of(&alert_rules_shape, rules, arena) };

    if (store_alert_rules_set(db, &row, err) != 0)
        return -1;
    return close_alerts_of_removed_rules(db, tenant_id, rules, notes, arena, err);
}

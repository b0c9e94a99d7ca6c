/* rules.h - a tenant's alert rules: shown, replaced, and read from storage. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/alerts/rule_eval.h"

struct alert_notes;
struct alert_row;
struct alert_rules_row;
struct db;

/* The rules in effect, in the arena; the defaults if the tenant has not set any. */
int alert_rules_show(struct db *db, int64_t tenant_id, struct arena *arena, struct alert_rules *ret,
                     struct error *err) MUST_CHECK;

/* Replaces all rules, within a transaction. Alerts of removed rules are closed and published to
 * live updates, but not sent to webhooks. */
int alert_rules_set(struct db *db, int64_t tenant_id, const struct alert_rules *rules,
                    struct alert_notes *notes, struct arena *arena, struct error *err) MUST_CHECK;

/* Closes an open alert whose rule was removed: published to live updates, not sent to webhooks. */
int alert_rules_close(struct db *db, struct alert_row *alert, struct alert_notes *notes,
                      struct error *err) MUST_CHECK;

/* A stored row as rules, in the arena. */
int alert_rules_read(const struct alert_rules_row *row, struct arena *arena,
                     struct alert_rules *ret, struct error *err) MUST_CHECK;

/* The alert subject that identifies a rule: the same for the same rule, paused or not. `identity`
 * is the shape of what makes it the same (rule_shapes.h). */
struct str alert_rules_subject(const struct shape *identity, const void *rule, struct arena *arena);

struct str alert_rules_json(const struct shape *shape, const void *value, struct arena *arena);

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

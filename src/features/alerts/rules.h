/* rules.h - what a tenant wants to be alerted of: shown, replaced, and read back. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "features/alerts/rule_shapes.h"

struct alert_notes;
struct alert_rules_row;
struct db;

/* Those that hold, in the arena; of a tenant that never set any, the default ones. */
int alert_rules_show(struct db *db, int64_t tenant_id, struct arena *arena, struct alert_rules *ret,
                     struct error *err) MUST_CHECK;

/* Replaces them all, within a transaction. The alerts of bounds that are no more are closed: noted,
 * but told to no webhook. */
int alert_rules_set(struct db *db, int64_t tenant_id, const struct alert_rules *rules,
                    struct alert_notes *notes, struct arena *arena, struct error *err) MUST_CHECK;

/* A stored row as rules, in the arena. */
int alert_rules_read(const struct alert_rules_row *row, struct arena *arena,
                     struct alert_rules *ret, struct error *err) MUST_CHECK;

/* What names a KPI's bound or a budget among the tenant's alerts: the same for the same rule. */
struct str alert_rules_kpi_subject(const struct kpi_rule *rule, struct arena *arena);
struct str alert_rules_budget_subject(const struct budget_rule *rule, struct arena *arena);

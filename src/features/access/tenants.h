/* tenants.h - tenants as rows, and the numbers of their changes. */
#pragma once
#include <stdbool.h>

#include "api/route.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "shape/shape.h"

struct db;
struct tenant_plan;

/* Of a row that the registry must load again: the number of this transaction's change. */
#define CHANGE_NUMBER "(SELECT number FROM change_numbers WHERE topic = 'registry')"

struct tenant_row {
    int64_t tenant_id;
    struct str slug, name;
    int64_t max_agents, rate_limit, max_bytes;
    int64_t stored_bytes; /* read by tenants_load() only, as run_failed */
    int64_t created_at;
    bool run_failed; /* alerts on failed runs */
};

/* `row->tenant_id` is filled in. ERR_CONFLICT when the slug is taken. */
int tenant_add(struct db *db, struct tenant_row *row, struct error *err) MUST_CHECK;

/* The tenant with this slug, in the arena. ERR_NOT_FOUND. */
int tenant_find(struct db *db, struct str slug, struct arena *arena, struct tenant_row *ret,
                struct error *err) MUST_CHECK;

/* The same without what it uses. */
int tenant_load_plan(struct db *db, struct str slug, struct arena *arena, struct tenant_plan *ret,
                     struct error *err) MUST_CHECK;

/* How many there are in an embedded database, without deleted ones. */
int tenant_count(struct db *db, int64_t *ret, struct error *err) MUST_CHECK;

/* Changes name and plan of the tenant with the row's slug. */
int tenant_set(struct db *db, const struct tenant_row *row, struct error *err) MUST_CHECK;

/* Marks the tenant as deleted, ends its keys and roles, and frees its slug. Its rows remain to be
 * erased (retention/sweep.h). ERR_NOT_FOUND. */
int tenant_delete(struct db *db, int64_t tenant_id, int64_t now_us, struct error *err) MUST_CHECK;

/* Changes by number: those after the first up to the second. The upper end is for PostgreSQL, which
 * takes a third of a table that was never analysed for greater than any number. */
struct change_span {
    int64_t after, until;
};
static const struct change_span all_changes = { -1, INT64_MAX };

/* The tenants that are not deleted and changed last within the span, in the arena: a list of struct
 * tenant_row. */
int tenants_load(struct db *db, struct change_span span, struct arena *arena, struct list *ret,
                 struct error *err) MUST_CHECK;

/* Tenants after this slug, by slug, in the arena: a list of struct tenant. */
int tenant_answers(struct db *db, struct str after, int64_t limit, struct arena *arena,
                   struct list *ret, struct error *err) MUST_CHECK;

/* The change number of the registry (tenants, keys): each change increments it. */
int registry_load_number(struct db *db, int64_t *ret, struct error *err) MUST_CHECK;

/* The same, and that of the last change after which all tenants are loaded. */
struct registry_numbers {
    int64_t number, reload_at;
};
int registry_load_numbers(struct db *db, struct registry_numbers *ret,
                          struct error *err) MUST_CHECK;

/* At the start of the transaction that changes tenants or keys: rows that change after it get the
 * new number as their `changed`. */
int registry_changed(struct db *db, struct error *err) MUST_CHECK;

/* After that, once at most: what the change is about. What processes remember of all else holds.
 * An agent was enabled, disabled or deleted, and with it perhaps its directives; or the models and
 * command policies of a tenant were changed (0: of the platform); or when agents of a tenant are
 * expected. */
int registry_about_agent(struct db *db, int64_t tenant_id, int64_t agent_id,
                         struct error *err) MUST_CHECK;
int registry_about_directives(struct db *db, int64_t tenant_id, struct error *err) MUST_CHECK;
int registry_about_schedules(struct db *db, int64_t tenant_id, struct error *err) MUST_CHECK;

/* What changes are about. `any_…`: it may be any of them, because some changes are of a program
 * that does not tell, or too long ago. */
struct registry_abouts {
    void (*on_agent)(void *ctx, int64_t tenant_id, int64_t agent_id);
    void (*on_directives)(void *ctx, int64_t tenant_id);
    void *ctx;
    bool any_agents, any_directives;
    bool schedules; /* when agents of some tenant are expected */
};
int registry_load_abouts(struct db *db, struct change_span span, struct registry_abouts *abouts,
                         struct error *err) MUST_CHECK;

/* After that, for a change that rows cannot show, such as the removal of a tenant: all processes
 * load all tenants. */
int registry_reload(struct db *db, struct error *err) MUST_CHECK;

/* Agents that count against its plan. */
int tenant_agents(struct db *db, int64_t tenant_id, int64_t *ret, struct error *err) MUST_CHECK;

/* Answers the tenant of the path with its plan and usage (struct tenant_plan). ERR_NOT_FOUND. */
call_work_fn tenants_show;

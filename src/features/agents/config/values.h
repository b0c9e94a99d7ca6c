/* values.h - configuration values and the security catalog, as users set and see them.
 *
 * All run inside a transaction or on a reader, with the caller's connection;
 * answers are in the arena.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "features/agents/config/shapes.h"
#include "features/agents/directives/store.h"

struct db;

/* Which values are read or changed, and by whom. */
struct values_view {
    struct directive_key target; /* a workspace or an agent */
    bool is_admin;               /* else a member */
    struct str author, key;      /* of a change */
};

/* The values set for a workspace; or the values in effect for an agent, one per parameter that it
 * has declared or that is set for it. */
int values_list(struct db *db, const struct values_view *view, struct arena *arena,
                struct config_values *ret, struct error *err) MUST_CHECK;

/* On a reader, before values_set(): may the value be set, and does it fit what the agents declared?
 * That may take reading many schemas, which the writer must not do. */
int values_check(struct db *db, const struct values_view *view, const struct value_set *set,
                 struct arena *arena, struct error *err) MUST_CHECK;

/* Sets the value of view->key, or unsets it (NULL), and returns the value then in effect.
 * ERR_FORBIDDEN when only admins may; ERR_INVALID when the value is not valid. */
int values_set(struct db *db, const struct values_view *view, const struct value_set *set,
               struct arena *arena, struct config_value *ret, struct error *err) MUST_CHECK;

int values_catalog(struct db *db, int64_t tenant_id, const struct catalog_query *query,
                   struct arena *arena, struct catalog_list *ret, struct error *err) MUST_CHECK;

/* Changes who may set and see a parameter. ERR_NOT_FOUND; ERR_CONFLICT when it should become secret
 * but has a value in plain text. */
int values_classify(struct db *db, const struct values_view *view,
                    const struct catalog_patch *patch, struct arena *arena,
                    struct catalog_parameter *ret, struct error *err) MUST_CHECK;

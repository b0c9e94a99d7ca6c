/* values.h - configuration values and the security catalog, as people set and see them.
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

/* Who looks at or changes which values. */
struct values_view {
    struct directive_key place; /* a workspace or an agent */
    bool is_admin;              /* else a member */
    struct str author, key;     /* of a change */
};

/* All that are set for a workspace; or what holds for an agent, for each parameter that it has
 * declared or that is set for it. */
int values_list(struct db *db, const struct values_view *view, struct arena *arena,
                struct config_values *ret, struct error *err) MUST_CHECK;

/* Sets the value of view->key, or unsets it (NULL), and answers what holds then. ERR_FORBIDDEN when
 * that is for admins; ERR_INVALID when the value must not be. */
int values_set(struct db *db, const struct values_view *view, const struct value_set *set,
               struct arena *arena, struct config_value *ret, struct error *err) MUST_CHECK;

int values_catalog(struct db *db, int64_t tenant_id, const struct catalog_query *query,
                   struct arena *arena, struct catalog_list *ret, struct error *err) MUST_CHECK;

/* ERR_NOT_FOUND; ERR_CONFLICT when what is to be secret is set in the clear somewhere. */
int values_classify(struct db *db, const struct values_view *view,
                    const struct catalog_patch *patch, struct arena *arena,
                    struct catalog_parameter *ret, struct error *err) MUST_CHECK;

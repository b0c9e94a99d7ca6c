/* catalog_store.h - the security catalog: who may see and edit a configuration parameter.
 *
 * An entry belongs to the service: it is made when its key first appears, and
 * whatever agents declare later changes nothing.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "shape/shape.h"

struct catalog_query;
struct db;

struct catalog_entry {
    struct str key;
    bool secret;
    const char *edit; /* admin, member */
    const char *see;  /* admin, member, nobody */
    int64_t created_at;
};

/* Entries on their way into the catalog, made before the writer's turn comes; in the arena. */
struct str store_catalog_prepare(const struct catalog_entry *entries, size_t n,
                                 struct arena *arena);

/* Enters those of them whose key the tenant does not have yet. */
int store_catalog_enter(struct db *db, int64_t tenant_id, struct str prepared, int64_t now_us,
                        struct error *err) MUST_CHECK;

/* The entry of a key, in the arena; its key is STR_NULL when there is none. */
int store_catalog_entry(struct db *db, int64_t tenant_id, struct str key, struct arena *arena,
                        struct catalog_entry *ret, struct error *err) MUST_CHECK;

/* As struct catalog_entry, by key, at most `limit` after the key `after` (STR_NULL: from the
 * first); in the arena. */
int store_catalog(struct db *db, int64_t tenant_id, const struct catalog_query *query,
                  struct arena *arena, struct list *ret, struct error *err) MUST_CHECK;

/* Changes an entry that is there. */
int store_catalog_set(struct db *db, int64_t tenant_id, const struct catalog_entry *entry,
                      struct error *err) MUST_CHECK;

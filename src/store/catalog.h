/* catalog.h - the security catalog: who may see and edit a configuration parameter.
 *
 * An entry belongs to the service: it is made when its key first appears, and
 * whatever agents declare later changes nothing.
 *
 * Layer: store. May use: base, contract, db.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct db;

struct catalog_entry {
    struct str key;
    bool secret;
    const char *edit; /* admin, member */
    const char *see;  /* admin, member, nobody */
};

/* Entries on their way into the catalog, made before the writer's turn comes; in the arena. */
struct str store_catalog_prepare(const struct catalog_entry *entries, size_t n,
                                 struct arena *arena);

/* Enters those of them whose key the tenant does not have yet. */
int store_catalog_enter(struct db *db, int64_t tenant_id, struct str prepared, int64_t now_us,
                        struct error *err) MUST_CHECK;

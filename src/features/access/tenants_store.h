/* tenants_store.h - tenants as rows. */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct db;

struct tenant_row {
    int64_t tenant_id;
    struct str slug, name;
    int64_t max_agents, rate_limit;
    int64_t created_at;
    bool run_failed; /* it wants alerts of failed runs; read only, by store_tenants() */
};

/* `row->tenant_id` is filled in. ERR_CONFLICT when the slug is taken. */
int store_tenant_add(struct db *db, struct tenant_row *row, struct error *err) MUST_CHECK;

/* The tenant with this slug, in the arena. ERR_NOT_FOUND. */
int store_tenant(struct db *db, struct str slug, struct arena *arena, struct tenant_row *ret,
                 struct error *err) MUST_CHECK;

/* Changes name and plan of the tenant with the row's slug. */
int store_tenant_set(struct db *db, const struct tenant_row *row, struct error *err) MUST_CHECK;

/* All of them, by slug; in the arena. */
int store_tenants(struct db *db, struct arena *arena, struct tenant_row **ret, size_t *ret_n,
                  struct error *err) MUST_CHECK;

/* The number of the registry (tenants, keys): it grows with every change. */
int store_registry_number(struct db *db, int64_t *ret, struct error *err) MUST_CHECK;

/* Within the transaction that changes tenants or keys. */
int store_registry_changed(struct db *db, struct error *err) MUST_CHECK;

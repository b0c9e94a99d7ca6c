/* tenants.h - creates, lists and changes tenants, and creates, lists and revokes keys.
 *
 * All run inside a transaction or on a reader, with the caller's connection.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct db;
struct key_create;
struct key_created;
struct key_name;
struct key_row;
struct keys_page;
struct keys_revoked;
struct listing;
struct registry;
struct tenant;
struct tenant_create;
struct tenant_patch;
struct tenant_plan;
struct tenants_query;

/* ERR_CONFLICT when the slug is taken. */
int tenants_add(struct db *db, const struct tenant_create *create, struct tenant *ret,
                struct error *err) MUST_CHECK;

/* Applies the patch. ERR_NOT_FOUND. In the arena. */
int tenants_set(struct db *db, struct str slug, const struct tenant_patch *patch,
                struct arena *arena, struct tenant *ret, struct error *err) MUST_CHECK;

/* From the commit on everything of the tenant is refused; its rows are erased later. ERR_NOT_FOUND.
 */
int tenants_delete(struct db *db, int64_t tenant_id, struct error *err) MUST_CHECK;

/* The tenant with its plan and usage. ERR_NOT_FOUND. In the arena. */
int tenants_get(struct db *db, struct str slug, struct arena *arena, struct tenant_plan *ret,
                struct error *err) MUST_CHECK;

/* A page. In the arena. */
int tenants_list(struct db *db, const struct tenants_query *query, struct arena *arena,
                 struct listing *ret, struct error *err) MUST_CHECK;

/* Stores a key with the row's tenant, kind, label, expiry and predecessor, and fills in the rest
 * of the row. *ret_token is the only copy of the token, in the arena. */
int key_make(struct db *db, struct key_row *row, struct arena *arena, struct str *ret_token,
             struct error *err) MUST_CHECK;

/* *ret has the only copy of the token. ERR_CONFLICT: the tenant has KEYS_MAX already. */
enum { KEYS_MAX = 10000 };
int keys_add(struct db *db, int64_t tenant_id, const struct key_create *create, struct arena *arena,
             struct key_created *ret, struct error *err) MUST_CHECK;

/* A page. Includes last uses that this process has not stored yet. ERR_NOT_FOUND: a bad cursor. */
int keys_list(struct db *db, struct registry *registry, const struct keys_page *page,
              struct arena *arena, struct listing *ret, struct error *err) MUST_CHECK;

/* Revokes the key and, unless `only`, all that were made from it by rotation; *ret names those that
 * were not revoked before. ERR_NOT_FOUND. */
int keys_revoke(struct db *db, const struct key_name *key, bool only, struct arena *arena,
                struct keys_revoked *ret, struct error *err) MUST_CHECK;

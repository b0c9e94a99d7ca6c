/* store.h - groups of the identity provider and the roles that they give, as rows. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/oidc/shapes.h"

struct db;

/* Those of the platform first, then by tenant and name; without those of deleted tenants: a list of
 * struct oidc_group, in the arena. */
int store_groups(struct db *db, struct arena *arena, struct list *ret,
                 struct error *err) MUST_CHECK;

/* ERR_CONFLICT when there are GROUP_ROWS_MAX: they are all read at each sign-in. */
enum { GROUP_ROWS_MAX = 1000 };
int store_groups_check_room(struct db *db, struct error *err) MUST_CHECK;

/* ERR_CONFLICT when the group has a role there already. */
int store_group_add(struct db *db, const struct oidc_group *row, struct error *err) MUST_CHECK;

/* ERR_NOT_FOUND. */
int store_group_remove(struct db *db, struct str group_id, struct error *err) MUST_CHECK;

/* store.h - links as rows; a link's token itself is stored nowhere. */
#pragma once
#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"
#include "features/users/links/shapes.h"
#include "features/users/shapes.h"

struct db;

struct link_row {
    struct str link_id;
    struct sha256 digest;
    int kind, state;   /* enum link_kind, link_state */
    int64_t tenant_id; /* 0: the platform's */
    struct str email;
    int platform_role;
    struct str made_by;
    int64_t created_at, expires_at;
    bool mailed; /* not stored: it was found by the token that only the reader of the mail knows */
};

int store_link_add(struct db *db, const struct link_row *row, struct error *err) MUST_CHECK;

int store_link_role_add(struct db *db, int64_t tenant_id, struct str link_id, int role,
                        struct error *err) MUST_CHECK;

/* link_id is STR_NULL if no link has this digest. In the arena. */
int store_link_find(struct db *db, const struct sha256 *digest, struct arena *arena,
                    struct link_row *ret, struct error *err) MUST_CHECK;

/* Marks an open link as used; false when it is not open at `now`. */
int store_link_use(struct db *db, struct str link_id, int64_t now, bool *ret,
                   struct error *err) MUST_CHECK;

/* How many of a tenant's links of this kind are open at `now`; and how many of any kind were
 * created after `since`. */
int store_links_open(struct db *db, int64_t tenant_id, enum link_kind kind, int64_t now,
                     int64_t *ret, struct error *err) MUST_CHECK;
int store_links_since(struct db *db, int64_t tenant_id, int64_t since, int64_t *ret,
                      struct error *err) MUST_CHECK;

/* How many resets this user (STR_NULL: all users) asked for after `since`; those above do not
 * count them. */
int store_resets_asked(struct db *db, struct str email, int64_t since, int64_t *ret,
                       struct error *err) MUST_CHECK;

/* The open invitations of a tenant, newest first: a list of struct link_row; in the arena. */
int store_invitations(struct db *db, int64_t tenant_id, int64_t now, struct arena *arena,
                      struct list *ret, struct error *err) MUST_CHECK;

/* One of the roles of a link. */
struct link_membership {
    struct str link_id;
    struct tenant_membership role;
};

/* The roles of all of them in tenants that exist, by link: a list of struct link_membership; in the
 * arena. */
int store_invitations_roles(struct db *db, int64_t tenant_id, int64_t now, struct arena *arena,
                            struct list *ret, struct error *err) MUST_CHECK;

/* The roles of a link in tenants that exist: a list of struct tenant_membership; in the arena. */
int store_link_roles(struct db *db, struct str link_id, struct arena *arena, struct list *ret,
                     struct error *err) MUST_CHECK;

/* Ends open links: one invitation (ERR_NOT_FOUND); those of a tenant for this e-mail; all resets of
 * this e-mail; all invitations of it, of any tenant; all that a user made, in one tenant (0:
 * anywhere). */
int store_invitation_revoke(struct db *db, int64_t tenant_id, struct str link_id,
                            struct error *err) MUST_CHECK;
int store_invitations_replace(struct db *db, int64_t tenant_id, struct str email,
                              struct error *err) MUST_CHECK;
int store_resets_end(struct db *db, struct str email, struct error *err) MUST_CHECK;
int store_invitations_end(struct db *db, struct str email, struct error *err) MUST_CHECK;
int store_links_end_of(struct db *db, struct str made_by, int64_t tenant_id,
                       struct error *err) MUST_CHECK;

/* Deletes those created before this time. */
int store_links_prune(struct db *db, int64_t created_before, struct error *err) MUST_CHECK;

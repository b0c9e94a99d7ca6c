/* links.h - invitations and reset links: one-time, expiring, and known only by their digest.
 *
 * The person who opens the link chooses the password, so an inviter need not invent one.
 * A link gives exactly what it was created for: an invitation creates a user who
 * does not exist yet. It never changes one who does, unless the account is not
 * confirmed (users.h) and the link was mailed: then the reader of the mail, to whom the
 * address belongs, gets the account, with a new password. A reset sets the password
 * of one user and leaves their second factor alone. Users who forgot their password
 * get resets too: such a link is made by its own user. A link ends when it is used,
 * when it expires, when another one replaces it, and when its maker loses the
 * role to create it or gets a new password by another person or a reset. An
 * invitation also ends when its person gets an account in another way.
 *
 * All run inside a transaction or on a reader, with the caller's connection;
 * answers are in the arena.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/users/links/store.h"
#include "features/users/shapes.h"

struct db;
struct user_row;

/* A link to create; for an invitation also who gets which roles. */
struct link_wish {
    enum link_kind kind;
    int64_t tenant_id; /* that invites; 0: the platform */
    struct str email;
    int platform_role;
    struct list roles; /* of struct link_role */
    struct str made_by;
    bool by_mail; /* it will be mailed */
};

#define LINK_OPERATOR                                                                              \
    "operator" /* made_by of a link that the operator created; else an e-mail address */

struct link_role {
    int64_t tenant_id;
    int role;
};

/* A new link, with its tokens: stored nowhere, and the only time that they are known. The one that
 * is shown to an admin is a digest of the one that is mailed, so only a reader of the mail knows
 * that one. */
struct link_made {
    struct link_row row;
    struct str mailed, shown;
    bool takes_over; /* the account exists, and is not confirmed: only the mailed token is valid */
};

/* ERR_CONFLICT when the user to invite exists (and is confirmed, or no mail is sent), or too many
 * links are open or were created in a day; ERR_NOT_FOUND when the user to reset does not exist. */
int links_make(struct db *db, const struct link_wish *wish, struct arena *arena,
               struct link_made *ret, struct error *err) MUST_CHECK;

/* A user who forgot the password asks for a reset link: links_make() without ending earlier links,
 * so that a stranger who asks too takes nothing away. ret->token is STR_NULL when there is no such
 * user, or when enough links were sent: `*ret_user` is then told apart by its user_id. */
int links_ask(struct db *db, struct str email, struct arena *arena, struct user_row *ret_user,
              struct link_made *ret, struct error *err) MUST_CHECK;

/* The link of this token, mailed or shown, if it can be used at `now`, else ERR_NOT_FOUND with a
 * sentence that says why. */
int links_find(struct db *db, struct str token, int64_t now, struct arena *arena,
               struct link_row *ret, struct error *err) MUST_CHECK;

/* Fails with ERR_CONFLICT for an invitation of a user who exists by now, and may not be taken over
 * by it. */
int links_check_user(struct db *db, const struct link_row *link, struct error *err) MUST_CHECK;

/* Uses the link: `hash` becomes the password of its user, whom an invitation creates with the
 * link's roles. ERR_NOT_FOUND as above; ERR_CONFLICT when the user exists by now. */
int links_accept(struct db *db, const struct link_row *link, struct str hash, struct arena *arena,
                 struct user *ret, struct error *err) MUST_CHECK;

/* The open invitations of a tenant (0: the platform's). */
int links_list(struct db *db, int64_t tenant_id, struct arena *arena, struct listing *ret,
               struct error *err) MUST_CHECK;

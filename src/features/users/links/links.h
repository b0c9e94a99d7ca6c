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
#include <stdbool.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"
#include "features/users/shapes.h"
#include "shape/shape.h"

struct db;
struct engine;
struct forgot;
struct user_row;

enum link_kind { LINK_INVITATION, LINK_RESET };
enum link_state { LINK_OPEN, LINK_USED, LINK_REVOKED };

extern const char *const link_kind_names[]; /* of enum link_kind */

enum { LINK_TENANTS_MAX = 100 };

/* A role in a tenant that a platform admin's invitation gives. */
struct invited_role {
    struct str slug;
    int role; /* enum tenant_role */
};

struct platform_invite {
    struct str email;
    int role;            /* enum platform_role */
    struct list tenants; /* of struct invited_role */
    bool show_link;
};

struct tenant_invite {
    struct str email;
    int role; /* enum tenant_role */
    bool show_link;
};

struct reset_request {
    bool show_link;
};

struct forgot_request {
    struct str email;
};

struct forgot_answer {
    struct str status;
};

struct link_created {
    struct str link_id, email;
    bool mailed;
    struct str mail_problem; /* null: mailed, or no mail server is set */
    struct str url;          /* null: mailed */
    struct str url_note;     /* null: the URL is one that other machines can open */
    int64_t expires_at;
};

struct invitation {
    struct str link_id, email, made_by;
    struct str role;     /* platform_admin; null: only the roles in tenants */
    struct list tenants; /* of struct tenant_membership */
    int64_t created_at, expires_at;
};

struct link_token {
    struct str token;
};

struct link_accept {
    struct str token, password;
};

/* What a link is for, to the person who opens it. */
struct link_shown {
    struct str kind, email;
    struct str role;
    struct list tenants; /* of struct tenant_membership */
    int64_t expires_at;
};

struct link_accepted {
    struct str email;
};

struct platform_link_path {
    struct str link_id;
};

struct tenant_link_path {
    struct str slug, link_id;
};

extern const struct shape platform_invite_shape, tenant_invite_shape, reset_request_shape,
    forgot_request_shape, forgot_answer_shape, link_created_shape, invitation_list_shape,
    link_token_shape, link_accept_shape, link_shown_shape, link_accepted_shape,
    platform_link_path_shape, tenant_link_path_shape;

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

/* The roles of a link in tenants that exist: a list of struct tenant_membership; in the arena. */
int link_roles(struct db *db, struct str link_id, struct arena *arena, struct list *ret,
               struct error *err) MUST_CHECK;

/* Ends an open invitation. ERR_NOT_FOUND. */
int invitation_revoke(struct db *db, int64_t tenant_id, struct str link_id,
                      struct error *err) MUST_CHECK;

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

/* forgot.c: people who forgot their password and ask for a reset link themselves.
 *
 * Anyone can ask for any e-mail address, so the answer must say nothing: it is
 * always the same, and it is not given when the work is done, but at the next tick,
 * together with those of others. Mail is sent from there too.
 *
 * Bounded: requests per address (of the network) and window, requests that wait
 * for their answer, mails that wait to be sent, mails being sent. How many links an account gets is
 * bounded in the database (links_ask()). Thread-safe. */
/* Any thread. */
struct forgot *users_forgot(const struct engine *e);

struct forgot *forgot_new(void);

/* No call may be held, and no mail be with the sender. NULL is fine. */
void forgot_free(struct forgot *f);

/* Can a link be sent at all: is there a mail server, and an address to name in a mail? */
bool forgot_is_possible(const struct engine *e);

/* Answers the calls that are held, and begins to send mails: few at a time, the oldest first. */
void forgot_tick(struct forgot *f, struct engine *e);

/* Answers the calls that are held, and holds none from now on. No tick may follow; mails that still
 * wait are named in the log when it is freed. */
void forgot_stop(struct forgot *f);

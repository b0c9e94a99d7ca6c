/* shapes.h - users, their roles, and sign-in.
 *
 * An e-mail address identifies a user, so it is trimmed and its ASCII letters are
 * lowercased wherever it is read. Passwords are read but never written.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "base/digest.h"
#include "base/str.h"
#include "features/access/sessions.h"
#include "shape/shape.h"

enum { EMAIL_MAX = 254, PASSWORD_MAX = 1024 };

/* Trimmed and lowercased; in the arena. */
struct str user_email_normal(struct str text, struct arena *arena);

/* Looks like an address: local@domain, without characters that cannot occur in one. */
bool user_is_email(struct str email);

/* Rules of rows. The first is for a new address; the second, for sign-in and paths, accepts
 * anything: the answer is the same for an address that is malformed and one that is unknown. */
const char *user_rule_email(struct str *email, struct arena *arena);

struct sign_in {
    struct str email, password;
    struct str code; /* null; of the second factor */
    bool asks_code;  /* not in a body: see accounts_check() */
};

struct set_up {
    struct str code, email, password;
};

struct set_up_state {
    bool needed;
    bool mails_links; /* to users who forgot their password */
};

struct password_change {
    struct str current_password, new_password;
    bool keep_tokens;
};

struct tenant_membership {
    struct str slug, name;
    struct str role; /* admin, member */
};

/* The signed-in user, and what a browser needs for further requests. */
struct session_answer {
    struct str user_id, email;
    struct str role;     /* platform_admin; null: no platform role */
    struct list tenants; /* of struct tenant_membership */
    struct str csrf_token;
    int64_t expires_at;
};

struct logged_out {
    struct str status;
};

struct user_create {
    struct str email, password;
    int role;       /* enum platform_role */
    bool confirmed; /* these two are not in a body: see struct user_row */
    int64_t made_in;
};

struct user_patch {
    int role;                        /* enum platform_role; -1: unchanged */
    struct str password;             /* null: unchanged */
    struct opt_bool email_confirmed; /* null: unchanged; never false */
};

struct user {
    struct str user_id, email;
    struct str role;     /* platform_admin; null */
    struct list tenants; /* of struct tenant_membership */
    int64_t created_at;
    int64_t last_login_at; /* TIME_NULL: never */
    bool email_confirmed;
};

struct tenant_user_create {
    struct str email;
    int role;            /* enum tenant_role */
    struct str password; /* null; ignored when the user exists */
    bool vouched;        /* not in a body: the platform adds the user, and knows the person */
};

struct tenant_user_patch {
    int role; /* enum tenant_role */
};

struct tenant_user {
    struct str user_id, email;
    struct str role;       /* admin, member */
    int64_t last_login_at; /* TIME_NULL: never */
    bool email_confirmed;
};

struct tenant_user_added {
    struct str user_id, email;
    struct str role;
    bool created; /* false: the user existed, and keeps the password */
};

struct user_path {
    struct str email;
};

struct tenant_user_path {
    struct str slug, email;
};

extern const struct shape sign_in_shape, set_up_shape, set_up_state_shape, password_change_shape,
    tenant_membership_shape, session_answer_shape, logged_out_shape, user_create_shape,
    user_patch_shape, user_shape, user_list_shape, tenant_user_create_shape,
    tenant_user_patch_shape, tenant_user_shape, tenant_user_added_shape, tenant_user_list_shape,
    user_path_shape, tenant_user_path_shape;

struct personal_create {
    struct str name;
    int role; /* enum token_role */
    int64_t expires_in_days;
    struct str current_password, code; /* null */
};

struct personal_token {
    struct str token_id, name;
    struct str role;
    int64_t created_at, expires_at;
};

struct personal_created {
    struct str token_id, token, name;
    struct str role;
    int64_t created_at, expires_at;
};

struct personal_path {
    struct str token_id;
};

struct personal_user_path {
    struct str email, token_id;
};

extern const struct shape personal_create_shape, personal_token_shape, personal_created_shape,
    personal_list_shape, personal_path_shape, personal_user_path_shape;

struct listed_session {
    struct str session_id;
    int64_t created_at, last_used_at, expires_at;
    struct str address, user_agent; /* empty: not known */
    bool current;
};

struct session_path {
    struct str session_id;
};

struct session_user_path {
    struct str email, session_id;
};

/* The public id of the session with this cookie digest, which it does not reveal; in the arena. */
struct str session_public_id(const struct sha256 *digest, struct arena *arena);

extern const struct shape session_list_shape, session_path_shape, session_user_path_shape;

enum { PASSWORD_LEAST = 12 }; /* code points */

/* The problem with a new password of the user with this e-mail, as a sentence; NULL: none. */
const char *password_problem(struct str password, struct str email);

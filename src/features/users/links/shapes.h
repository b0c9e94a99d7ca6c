/* shapes.h - links by which a person chooses their own password: invitations and resets.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "shape/shape.h"

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

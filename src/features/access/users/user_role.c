/* user_role.c - what a signed-in user may do in a tenant. */
#include "features/access/users/sessions.h"

enum tenant_role user_role(const struct session_user *user, int64_t tenant_id)
{
    if (user->everywhere)
        return user->everywhere_role;
    for (size_t i = 0; i < user->n_roles; i++)
        if (user->roles[i].tenant_id == tenant_id)
            return user->roles[i].role;
    return ROLE_NONE;
}

void user_limit_roles(struct session_user *user, enum token_role most)
{
    const enum tenant_role role = most == TOKEN_ROLE_ADMIN ? ROLE_ADMIN : ROLE_MEMBER;

    if (most == TOKEN_ROLE_PLATFORM_ADMIN)
        return;
    user->everywhere = user->is_platform_admin;
    user->everywhere_role = role;
    user->is_platform_admin = false;
    for (size_t i = 0; i < user->n_roles && role == ROLE_MEMBER; i++)
        user->roles[i].role = ROLE_MEMBER;
}

/* routes.h - the routes and commands of this feature, for its feature.c. */
#pragma once
#include "api/route.h"
#include "cli/command.h"

extern const struct route accept_routes[], factor_routes[], forgot_routes[], link_routes[],
    password_routes[], personal_routes[], session_routes[], sign_in_routes[], tenant_user_routes[],
    user_routes[];
extern const struct command factor_commands[], link_commands[], login_commands[], user_commands[];

/* routes.h - the routes and commands of this feature, for its feature.c. */
#pragma once
#include "api/route.h"
#include "cli/command.h"

extern const struct route oidc_sign_in_routes[], oidc_routes[];
extern const struct command oidc_commands[];

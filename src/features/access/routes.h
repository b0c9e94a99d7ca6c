/* routes.h - the routes of this feature, for its feature.c. */
#pragma once
#include "api/route.h"

extern const struct route accept_routes[];
extern const struct route forgot_routes[];
extern const struct route key_routes[];
extern const struct route link_routes[];
extern const struct route password_routes[];
extern const struct route personal_routes[];
extern const struct route session_routes[];
extern const struct route sign_in_routes[];
extern const struct route tenant_routes[];
extern const struct route tenant_user_routes[];
extern const struct route user_routes[];

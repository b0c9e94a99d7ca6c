/* routes.h - the routes of this feature, for its feature.c. */
#pragma once
#include "api/route.h"

extern const struct route alert_routes[];
extern const struct route rule_routes[];
extern const struct route handling_routes[];

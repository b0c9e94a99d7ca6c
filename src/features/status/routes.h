/* routes.h - the routes of this feature, for its feature.c. */
#pragma once
#include "api/route.h"

extern const struct route health_routes[], metrics_routes[];

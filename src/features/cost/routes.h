/* routes.h - the routes of this feature, for its feature.c. */
#pragma once
#include "api/route.h"

extern const struct route llm_report_routes[];
extern const struct route price_routes[];
extern const struct route usage_routes[];

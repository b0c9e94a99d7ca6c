/* routes.h - the routes of this feature, for its feature.c. */
#pragma once
#include "api/route.h"

extern const struct route kpi_report_routes[], kpi_routes[];

/* feature.c - what the service starts, serves and stops for this feature. */
#include "engine/feature.h"
#include "features/features.h"
#include "features/kpis/routes.h"

const struct feature kpis_feature = {
    .name = "kpis",
    .routes = { kpi_report_routes, kpi_routes },
};

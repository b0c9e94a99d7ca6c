/* feature.c - what the service starts, serves and stops for this feature. */
#include "engine/feature.h"
#include "features/cost/routes.h"
#include "features/features.h"

const struct feature cost_feature = {
    .name = "cost",
    .routes = { llm_report_routes, usage_routes, price_routes },
};

/* feature.c - a workspace's numbers in Prometheus' text format. */
#include "engine/feature.h"

#include "features/features.h"
#include "features/scrape/routes.h"

const struct feature scrape_feature = {
    .name = "scrape",
    .about = "A workspace's numbers for Prometheus.",
    .routes = { scrape_routes },
};

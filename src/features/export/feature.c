/* feature.c - what the service starts, serves and stops for this feature. */
#include "engine/feature.h"
#include "features/export/routes.h"
#include "features/features.h"

const struct feature export_feature = {
    .name = "export",
    .routes = { export_routes },
};

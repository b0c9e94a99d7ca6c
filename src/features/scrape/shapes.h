/* shapes.h - the query of a workspace's metrics.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "shape/shape.h"

struct scrape_query {
    struct str time_range;
};

extern const struct shape scrape_query_shape;

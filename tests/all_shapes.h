/* all_shapes.h - the shapes of all routes, for tests. */
#pragma once
#include "api/openapi.h"
#include "api/route.h"
#include "app/assemble.h"
#include "shape/schema.h"

static inline void all_shapes(unsigned uses, struct schema_set *ret)
{
    struct route_table table;

    route_table_init(&table, features);
    shapes_collect(&table, uses, ret);
    route_table_done(&table);
}

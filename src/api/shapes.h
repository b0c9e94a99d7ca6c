/* shapes.h - every shape of the API, found by walking the routes.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "shape/schema.h"

struct route_table;

/* How a route uses a shape; flags. */
enum shape_use { SHAPE_BODY = 1, SHAPE_QUERY = 2, SHAPE_PATH = 4, SHAPE_ANSWER = 8 };

/* Adds the shapes that the routes have for one of `uses`, and all that are nested in them. Errors
 * count as answers. The set is sorted by name. */
void shapes_collect(const struct route_table *table, unsigned uses, struct schema_set *ret);

/* openapi.h - the OpenAPI document, generated from the routes and their shapes. */
#pragma once
#include "base/buf.h"
#include "base/lock.h"

struct route_table;
struct schema_set;

/* The document of a service. Few processes are ever asked for it, and to write it takes as long as
 * a tenth of their start: it is written when it is first asked for. */
struct openapi {
    struct lock lock;
    struct buf text GUARDED_BY(lock); /* empty: not written yet */
};

void openapi_init(struct openapi *o);
void openapi_done(struct openapi *o);

/* The text is valid, and unchanged, until openapi_done(). */
struct str openapi_text(struct openapi *o, const struct route_table *table);

/* The whole document, indented by two spaces, ending in a newline. */
void openapi_write(const struct route_table *table, struct buf *out);

/* How a route uses a shape; flags. */
enum shape_use { SHAPE_BODY = 1, SHAPE_QUERY = 2, SHAPE_PATH = 4, SHAPE_ANSWER = 8 };

/* Adds the shapes that the routes have for one of `uses`, and all that are nested in them. Errors
 * count as answers. The set is sorted by name. */
void shapes_collect(const struct route_table *table, unsigned uses, struct schema_set *ret);

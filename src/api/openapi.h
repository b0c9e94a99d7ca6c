/* openapi.h - the OpenAPI document, generated from the routes and their shapes. */
#pragma once
#include "base/buf.h"
#include "base/lock.h"

struct route_table;

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

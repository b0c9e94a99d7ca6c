/* openapi.h - the OpenAPI document, generated from the routes and their shapes. */
#pragma once
#include "base/buf.h"

struct route_table;

/* The whole document, indented by two spaces, ending in a newline. */
void openapi_write(const struct route_table *table, struct buf *out);

/* openapi.h - the OpenAPI document, made from the routes and their shapes. */
#pragma once
#include "base/buf.h"

/* The whole document, indented by two spaces, ending in a newline. */
void openapi_write(struct buf *out);

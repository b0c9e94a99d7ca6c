/* openapi_answers.h - the answers of operations in the OpenAPI document; private to openapi.c.
 *
 * One thread at a time: the document is written once, at start.
 */
#pragma once
#include "api/route.h"
#include "base/arena.h"
#include "base/buf.h"

/* ,"requestBody":{…} of a route that takes one. */
void openapi_add_request(struct buf *out, const struct route *route, struct arena *arena);

/* ,"responses":{…} of a route. */
void openapi_add_responses(struct buf *out, const struct route *route, struct arena *arena);

/* "responses":{…},"headers":{…} of the components that the answers of routes refer to. */
void openapi_add_shared(struct buf *out);

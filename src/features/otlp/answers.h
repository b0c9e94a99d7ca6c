/* answers.h - answers and errors in the encoding of the request. */
#pragma once
#include <stdbool.h>

#include "api/route.h"

/* The route's `write`. Errors are google.rpc.Status. */
call_write_fn otlp_write;

/* Is the request's body protobuf? */
bool otlp_is_wire(const struct api_call *call);

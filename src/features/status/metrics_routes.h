/* metrics_routes.h - metrics for monitoring systems, and who may read them. */
#pragma once
#include <stdbool.h>

#include "api/route.h"

struct api;
struct api_call;
struct http_app;

/* Is it the operator, or a request with the metrics token? */
bool metrics_may_read(const struct api_call *call);

/* The application of a listener that answers only GET /metrics, without authentication. */
void metrics_app(struct api *api, struct http_app *ret);

extern const struct route metrics_routes[];

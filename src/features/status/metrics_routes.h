/* metrics_routes.h - metrics for monitoring systems, and who may read them. */
#pragma once
#include "base/buf.h"

struct api;
struct http_app;

/* Everything, in the text format of Prometheus, version 0.0.4. */
void metrics_write(struct api *api, struct buf *out);

/* The slots of a listener that answers GET /metrics and nothing else, to anybody. */
void metrics_app(struct api *api, struct http_app *ret);

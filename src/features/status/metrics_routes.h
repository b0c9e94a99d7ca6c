/* metrics_routes.h - what monitoring systems are told, and who may ask. */
#pragma once
#include "base/buf.h"

struct api;
struct http_app;
struct http_exchange;

/* Of the extra cells of base/metrics.h that each route takes: one for each status that is told. */
enum { METRICS_STATUSES = 18 };

/* Counts an answered request. Any thread. */
void metrics_count(const struct http_exchange *x, int status);

/* Everything, in the text format of Prometheus, version 0.0.4. */
void metrics_write(struct api *api, struct buf *out);

/* The slots of a listener that answers GET /metrics and nothing else, to anybody. */
void metrics_app(struct api *api, struct http_app *ret);

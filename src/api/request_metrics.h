/* request_metrics.h - requests counted by route and status, and how long they took. */
#pragma once
#include "base/buf.h"

struct http_exchange;
struct route_table;

/* Cells of base/metrics.h per route: one per status that is counted separately. */
enum { REQUEST_METRICS_STATUSES = 18 };

/* Counts an answered request. Any thread. */
void request_metrics_count(const struct http_exchange *x, int status);

/* The counters, in the text format of Prometheus. */
void request_metrics_write(const struct route_table *table, struct buf *out);

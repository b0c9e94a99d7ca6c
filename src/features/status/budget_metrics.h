/* budget_metrics.h - what callers hold, by level and kind, as metrics. */
#pragma once

struct api;
struct buf;

void budget_metrics_write(struct api *api, struct buf *out);

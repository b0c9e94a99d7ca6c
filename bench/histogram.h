/* histogram.h - latencies in buckets of at most 3 % width. */
#pragma once
#include <stdint.h>

enum { HISTOGRAM_FINE = 64, HISTOGRAM_BUCKETS = 59 * HISTOGRAM_FINE };

struct histogram {
    uint64_t n, max;
    uint64_t counts[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *h, uint64_t value);

/* The value that `share` (0..1) of all do not exceed; 0 when there are none. */
uint64_t histogram_at(const struct histogram *h, double share);

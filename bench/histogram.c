/* histogram.c - buckets by the leading six bits. */
#include "histogram.h"

static unsigned bucket_of(uint64_t value)
{
    unsigned shift = value < HISTOGRAM_FINE ? 0 : 58u - (unsigned)__builtin_clzll(value);

    return shift * HISTOGRAM_FINE + (unsigned)(value >> shift);
}

void histogram_add(struct histogram *h, uint64_t value)
{
    h->n++;
    h->max = value > h->max ? value : h->max;
    h->counts[bucket_of(value) % HISTOGRAM_BUCKETS]++;
}

uint64_t histogram_at(const struct histogram *h, double share)
{
    uint64_t wanted = (uint64_t)((double)h->n * share), seen = 0;

    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        unsigned shift = i / HISTOGRAM_FINE;

        seen += h->counts[i];
        if (seen > wanted)
            return (uint64_t)(i - shift * HISTOGRAM_FINE) << shift;
    }
    return h->max;
}

/* random.h - numbers that look random and are the same in every run: a failure can be repeated. */
#pragma once
#include <stdint.h>

struct random {
    uint64_t state; /* the seed; any number */
};

/* SplitMix64's step: a counter, well stirred. */
static inline uint64_t random_next(struct random *r)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15U;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
    z = (z ^ z >> 27) * 0x94d049bb133111ebU;
    return z ^ z >> 31;
}

/* In [0, below). */
static inline uint64_t random_below(struct random *r, uint64_t below)
{
    return random_next(r) % below;
}

static inline int random_percent(struct random *r, unsigned percent)
{
    return random_below(r, 100) < percent;
}

/* tokens.h - what a span says about the tokens of a call to a model. */
#pragma once
#include "base/buf.h"
#include "features/otlp/known.h"

/* Disjoint counts, as usage is stored; -1: not said. */
struct tokens {
    int64_t input, output, cache_read, cache_write;
    bool any;    /* something is said */
    bool counts; /* it is the span of a call, not one that repeats the sum of others */
};

struct tokens tokens_of(const struct known_values *known);

/* An object of the counts that are said, for the metrics of an event. */
void tokens_write(const struct tokens *tokens, struct buf *out);

/* tokens.h - what a span says about the tokens of a call to a model. */
#pragma once
#include "base/buf.h"
#include "features/otlp/known.h"

/* What a span is a call of, a bit each. */
enum call_kind {
    CALL_NONE = 0, /* something generic, such as a request by HTTP */
    CALL_MODEL = 1,
    CALL_EMBEDDING = 2,
    CALL_RERANKER = 4,
    CALL_OTHER = 8, /* an agent, a chain, a tool: what is below it are calls of its own */
};

/* Disjoint counts, as usage is stored; -1: not said. */
struct tokens {
    int64_t input, output, cache_read, cache_write;
    bool any; /* something is said */
    enum call_kind kind;
    bool counts; /* it is the span of a call, not one that repeats the sum of others */
};

struct tokens tokens_of(const struct known_values *known);

/* An object of the counts that are said, for the metrics of an event. */
void tokens_write(const struct tokens *tokens, struct buf *out);

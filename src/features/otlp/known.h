/* known.h - the attributes whose meaning is known here, by any of their names.
 *
 * The names are OpenTelemetry's semantic conventions (for generative AI, in
 * their present and earlier spelling), OpenInference's, and those that the
 * AI SDK and Claude Code add to these.
 *
 * Thread-safe: values only.
 */
#pragma once
#include "base/buf.h"
#include "features/otlp/records.h"

enum known {
    KNOWN_AGENT,
    KNOWN_AGENT_VERSION,
    KNOWN_SERVICE,
    KNOWN_SERVICE_VERSION,
    KNOWN_OPERATION, /* chat, embeddings, invoke_agent, execute_tool … */
    KNOWN_SPAN_KIND, /* LLM, CHAIN, AGENT, TOOL … */
    KNOWN_MODEL,
    KNOWN_INPUT_TOKENS, /* cached ones included */
    KNOWN_OUTPUT_TOKENS,
    KNOWN_CACHE_READ_TOKENS,
    KNOWN_CACHE_WRITE_TOKENS,
    KNOWN_BARE_INPUT_TOKENS, /* of Claude Code, in the same order: cached ones not included */
    KNOWN_BARE_OUTPUT_TOKENS,
    KNOWN_BARE_CACHE_READ_TOKENS,
    KNOWN_BARE_CACHE_WRITE_TOKENS,
    KNOWN_ERROR_TYPE,
    KNOWN_EXCEPTION_TYPE,
    KNOWN_EXCEPTION_MESSAGE,
    KNOWN_FILE,
    KNOWN_LINE,
    KNOWN_N
};

/* NULL: not there. */
struct known_values {
    const struct otlp_value *values[KNOWN_N];
};

/* Of two names for the same thing the preferred one counts, of two equal names the last. */
void known_find(const struct otlp_attribute *items, size_t n, struct known_values *ret);

/* The text, or STR_NULL when it is absent, empty or no text. */
struct str known_text(const struct known_values *known, enum known what);

/* A count, which may be in digits, or -1 when it is absent, negative or no whole number. */
int64_t known_count(const struct known_values *known, enum known what);

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

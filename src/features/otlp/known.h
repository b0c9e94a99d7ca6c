/* known.h - the attributes whose meaning is known here, by any of their names.
 *
 * The names are OpenTelemetry's semantic conventions (for generative AI, in
 * their present and earlier spelling), OpenInference's, and those that the
 * AI SDK and Claude Code add to these.
 *
 * Thread-safe: values only.
 */
#pragma once
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

/* tokens.c - token counts, without those that are counted twice. */
#include "features/otlp/tokens.h"

/* Spans of agents, chains and tools may repeat the sum of the calls below them, which have spans of
 * their own. What such spans are called: */
static const struct str sums_by_operation[] = { STR_INIT("invoke_agent"), STR_INIT("create_agent"),
                                                STR_INIT("invoke_workflow"),
                                                STR_INIT("execute_tool") };
static const struct str calls_by_kind[] = { STR_INIT("LLM"), STR_INIT("EMBEDDING"),
                                            STR_INIT("RERANKER") };

static bool is_one_of(struct str text, const struct str *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq_nocase(text, list[i]))
            return true;
    return false;
}

static bool is_call(const struct known_values *known)
{
    struct str operation = known_text(known, KNOWN_OPERATION);
    struct str kind = known_text(known, KNOWN_SPAN_KIND);

    if (is_one_of(operation, sums_by_operation, COUNT_OF(sums_by_operation)))
        return false;
    return str_is_null(kind) || is_one_of(kind, calls_by_kind, COUNT_OF(calls_by_kind));
}

/* Input that includes cached tokens, without them. When there are fewer than the cached ones, they
 * were not included, whatever the conventions say. */
static int64_t fresh_input(int64_t input, int64_t cache_read, int64_t cache_write)
{
    int64_t read = cache_read < 0 ? 0 : cache_read, write = cache_write < 0 ? 0 : cache_write;

    if (input < read || input - read < write)
        return input;
    return input - read - write;
}

/* Of the four counts that begin with `first`. */
static struct tokens counts_from(const struct known_values *known, enum known first)
{
    struct tokens t = { .input = known_count(known, first),
                        .output = known_count(known, first + 1),
                        .cache_read = known_count(known, first + 2),
                        .cache_write = known_count(known, first + 3) };

    t.any = t.input >= 0 || t.output >= 0;
    if (!t.any) /* cached tokens alone are what the AI SDK repeats as a sum */
        t.cache_read = t.cache_write = -1;
    return t;
}

/* Bare names, which any program may use for something else, count beside a model. */
struct tokens tokens_of(const struct known_values *known)
{
    struct tokens t = counts_from(known, KNOWN_INPUT_TOKENS);

    if (t.any)
        t.input = fresh_input(t.input, t.cache_read, t.cache_write);
    else if (!str_is_null(known_text(known, KNOWN_MODEL)))
        t = counts_from(known, KNOWN_BARE_INPUT_TOKENS);
    t.counts = t.any && is_call(known);
    return t;
}

void tokens_write(const struct tokens *tokens, struct buf *out)
{
    const struct {
        const char *name;
        int64_t count;
    } counts[] = { { "input_tokens", tokens->input },
                   { "output_tokens", tokens->output },
                   { "cache_read_tokens", tokens->cache_read },
                   { "cache_write_tokens", tokens->cache_write } };
    const char *before = "{\"";

    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        if (counts[i].count < 0)
            continue;
        buf_add_c(out, before);
        buf_add_c(out, counts[i].name);
        buf_add_c(out, "\":");
        buf_add_int(out, counts[i].count);
        before = ",\"";
    }
    buf_add_c(out, tokens->any ? "}" : "{}");
}

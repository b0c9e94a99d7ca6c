/* tokens.c - token counts, without those that are counted twice. */
#include "features/otlp/tokens.h"

/* Spans of agents, chains and tools may repeat the sum of the calls below them, which have spans of
 * their own. What operations and kinds of spans are called: */
static const struct {
    struct str name;
    enum call_kind kind;
} kinds[] = {
    { STR_INIT("invoke_agent"), CALL_OTHER },
    { STR_INIT("create_agent"), CALL_OTHER },
    { STR_INIT("invoke_workflow"), CALL_OTHER },
    { STR_INIT("execute_tool"), CALL_OTHER },
    { STR_INIT("embeddings"), CALL_EMBEDDING },
    { STR_INIT("EMBEDDING"), CALL_EMBEDDING },
    { STR_INIT("rerank"), CALL_RERANKER },
    { STR_INIT("RERANKER"), CALL_RERANKER },
    { STR_INIT("LLM"), CALL_MODEL },
};

static enum call_kind named(struct str name, enum call_kind otherwise)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (str_eq_nocase(name, kinds[i].name))
            return kinds[i].kind;
    return otherwise;
}

static enum call_kind kind_of(const struct known_values *known, bool has_tokens)
{
    struct str kind = known_text(known, KNOWN_SPAN_KIND);
    enum call_kind by_kind = str_is_null(kind) ? CALL_MODEL : named(kind, CALL_OTHER);
    enum call_kind ret = named(known_text(known, KNOWN_OPERATION), CALL_MODEL);

    if (ret == CALL_MODEL || by_kind == CALL_OTHER)
        ret = by_kind;
    return ret == CALL_MODEL && !has_tokens ? CALL_NONE : ret;
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
    t.kind = kind_of(known, t.any);
    t.counts = t.any && t.kind != CALL_OTHER;
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

/* known.c - the names of known attributes, and token counts without those that are counted twice.
 */
#include "features/otlp/known.h"

#include <math.h>

/* For each thing the preferred name first. */
static const struct {
    struct str name;
    enum known what;
} names[] = {
    { STR_INIT("gen_ai.agent.name"), KNOWN_AGENT },
    { STR_INIT("gen_ai.agent.version"), KNOWN_AGENT_VERSION },
    { STR_INIT("service.name"), KNOWN_SERVICE },
    { STR_INIT("service.version"), KNOWN_SERVICE_VERSION },
    { STR_INIT("gen_ai.operation.name"), KNOWN_OPERATION },
    { STR_INIT("openinference.span.kind"), KNOWN_SPAN_KIND },
    { STR_INIT("gen_ai.response.model"), KNOWN_MODEL },
    { STR_INIT("gen_ai.request.model"), KNOWN_MODEL },
    { STR_INIT("llm.model_name"), KNOWN_MODEL },
    { STR_INIT("embedding.model_name"), KNOWN_MODEL },
    { STR_INIT("gen_ai.usage.input_tokens"), KNOWN_INPUT_TOKENS },
    { STR_INIT("gen_ai.usage.prompt_tokens"), KNOWN_INPUT_TOKENS },
    { STR_INIT("llm.token_count.prompt"), KNOWN_INPUT_TOKENS },
    { STR_INIT("gen_ai.usage.output_tokens"), KNOWN_OUTPUT_TOKENS },
    { STR_INIT("gen_ai.usage.completion_tokens"), KNOWN_OUTPUT_TOKENS },
    { STR_INIT("llm.token_count.completion"), KNOWN_OUTPUT_TOKENS },
    { STR_INIT("gen_ai.usage.cache_read.input_tokens"), KNOWN_CACHE_READ_TOKENS },
    { STR_INIT("gen_ai.usage.cache_read_input_tokens"), KNOWN_CACHE_READ_TOKENS },
    { STR_INIT("llm.token_count.prompt_details.cache_read"), KNOWN_CACHE_READ_TOKENS },
    { STR_INIT("ai.usage.inputTokenDetails.cacheReadTokens"), KNOWN_CACHE_READ_TOKENS },
    { STR_INIT("ai.usage.cachedInputTokens"), KNOWN_CACHE_READ_TOKENS },
    { STR_INIT("gen_ai.usage.cache_creation.input_tokens"), KNOWN_CACHE_WRITE_TOKENS },
    { STR_INIT("gen_ai.usage.cache_creation_input_tokens"), KNOWN_CACHE_WRITE_TOKENS },
    { STR_INIT("gen_ai.usage.cache_write.input_tokens"), KNOWN_CACHE_WRITE_TOKENS },
    { STR_INIT("llm.token_count.prompt_details.cache_write"), KNOWN_CACHE_WRITE_TOKENS },
    { STR_INIT("ai.usage.inputTokenDetails.cacheWriteTokens"), KNOWN_CACHE_WRITE_TOKENS },
    { STR_INIT("input_tokens"), KNOWN_BARE_INPUT_TOKENS },
    { STR_INIT("output_tokens"), KNOWN_BARE_OUTPUT_TOKENS },
    { STR_INIT("cache_read_tokens"), KNOWN_BARE_CACHE_READ_TOKENS },
    { STR_INIT("cache_creation_tokens"), KNOWN_BARE_CACHE_WRITE_TOKENS },
    { STR_INIT("error.type"), KNOWN_ERROR_TYPE },
    { STR_INIT("exception.type"), KNOWN_EXCEPTION_TYPE },
    { STR_INIT("exception.message"), KNOWN_EXCEPTION_MESSAGE },
    { STR_INIT("code.file.path"), KNOWN_FILE },
    { STR_INIT("code.filepath"), KNOWN_FILE },
    { STR_INIT("code.line.number"), KNOWN_LINE },
    { STR_INIT("code.lineno"), KNOWN_LINE },
};

void known_find(const struct otlp_attribute *items, size_t n, struct known_values *ret)
{
    size_t ranks[KNOWN_N];

    *ret = (struct known_values){ .values = { NULL } };
    for (size_t i = 0; i < KNOWN_N; i++)
        ranks[i] = COUNT_OF(names);
    for (size_t i = 0; i < n; i++)
        for (size_t rank = 0; rank < COUNT_OF(names); rank++) {
            enum known what = names[rank].what;

            if (rank > ranks[what] || !str_eq(names[rank].name, items[i].key))
                continue;
            ret->values[what] = &items[i].value;
            ranks[what] = rank;
            break;
        }
}

struct str known_text(const struct known_values *known, enum known what)
{
    const struct otlp_value *value = known->values[what];

    return value != NULL && value->kind == OTLP_TEXT && value->text.len > 0 ? value->text
                                                                            : STR_NULL;
}

int64_t known_count(const struct known_values *known, enum known what)
{
    const struct otlp_value *value = known->values[what];
    const double exact = 9007199254740992.0; /* beyond it, not every whole number is a double */
    int64_t number;

    if (value != NULL && value->kind == OTLP_TEXT && str_to_int(value->text, &number))
        return number < 0 ? -1 : number;
    if (value != NULL && value->kind == OTLP_INT && value->integer >= 0)
        return value->integer;
    if (value != NULL && value->kind == OTLP_REAL && value->real >= 0 && value->real < exact &&
        floor(value->real) == value->real)
        return (int64_t)value->real;
    return -1;
}

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

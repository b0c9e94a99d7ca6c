/* known.c - the names of known attributes. */
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

/* price_file.c - reads the entries of a price file. */
#include "features/cost/price_file.h"

#include <stdlib.h>

#include "base/datetime.h"
#include "features/cost/money.h"
#include "shape/check.h"
#include "shape/json.h"

enum { MODEL_MAX = 256 };

/* clang-format off */
/* By prefix of the provider's name; the first match counts. Providers with OpenAI's response format
 * include cached tokens in the prompt's, Anthropic's models count them separately. */
static const struct {
    const char *provider;
    bool includes_cache;
} providers[] = {
    { "vertex_ai-anthropic", false },
    { "anthropic",           false },
    { "bedrock",             false },
    { "openai",              true },
    { "text-completion-openai", true },
    { "azure",               true },
    { "gemini",              true },
    { "vertex_ai",           true },
    { "deepseek",            true },
    { "xai",                 true },
    { "mistral",             true },
    { "groq",                true },
    { "openrouter",          true },
    { "together_ai",         true },
    { "fireworks_ai",        true },
    { "deepinfra",           true },
    { "perplexity",          true },
    { "cerebras",            true },
    { "moonshot",            true },
    { "dashscope",           true },
};

/* Modes whose models produce output tokens: an entry without a price for these is skipped. */
static const char *const producing_modes[] = { "chat", "completion", "responses" };
/* clang-format on */

/* Does this provider, as LiteLLM names it, include cached tokens in the input? */
static bool price_file_includes_cache(struct str litellm_provider)
{
    for (size_t i = 0; i < COUNT_OF(providers); i++)
        if (str_starts(litellm_provider, str_of(providers[i].provider)))
            return providers[i].includes_cache;
    return false;
}

struct walk {
    struct arena *arena;
    struct problems *problems;
    struct str model; /* of the current entry */
};

static void add_problem(const struct walk *w, const char *member, yyjson_val *value,
                        const char *sentence)
{
    const struct path_step path[] = { { .name = STR_LIT("prices") },
                                      { .name = w->model },
                                      { .name = str_of(member) } };

    problems_add_rule(w->problems, path, member == NULL ? 2 : 3,
                      json_write_short_text(value, PROBLEM_INPUT_MAX, w->arena), sentence);
}

static yyjson_val *member_of(yyjson_val *object, const char *name)
{
    yyjson_val *value = yyjson_obj_get(object, name);

    return value == NULL || unsafe_yyjson_is_null(value) ? NULL : value;
}

static struct str text_of(yyjson_val *object, const char *name)
{
    yyjson_val *value = member_of(object, name);

    return value != NULL && unsafe_yyjson_is_str(value) ? json_str(value) : STR_LIT("");
}

/* False when it is missing, or invalid, which is reported. */
static bool read_amount(const struct walk *w, yyjson_val *entry, const char *name, int64_t *ret)
{
    yyjson_val *value = member_of(entry, name);
    const char *sentence;

    if (value == NULL)
        return false;
    if (!unsafe_yyjson_is_num(value) && !unsafe_yyjson_is_raw(value))
        sentence = "Should be a number: USD per token";
    else
        sentence = money_parse_rounded(json_write_text(value, w->arena), MONEY_TOKEN_DECIMALS, ret);
    if (sentence != NULL)
        add_problem(w, name, value, sentence);
    return sentence == NULL;
}

static bool produces_tokens(struct str mode)
{
    for (size_t i = 0; i < COUNT_OF(producing_modes); i++)
        if (str_eq_c(mode, producing_modes[i]))
            return true;
    return mode.len == 0;
}

/* False when the entry has no token prices. */
static bool read_litellm_entry(const struct walk *w, yyjson_val *entry, struct price_create *ret)
{
    struct price_amounts *amounts = &ret->amounts;
    bool has_input, has_output;

    *ret = (struct price_create){ .model = w->model, .valid_from = TIME_NULL };
    has_input = read_amount(w, entry, "input_cost_per_token", &amounts->input);
    has_output = read_amount(w, entry, "output_cost_per_token", &amounts->output);
    amounts->cache_read.has =
        read_amount(w, entry, "cache_read_input_token_cost", &amounts->cache_read.value);
    amounts->cache_write.has =
        read_amount(w, entry, "cache_creation_input_token_cost", &amounts->cache_write.value);
    ret->provider = text_of(entry, "litellm_provider");
    ret->input_includes_cache = price_file_includes_cache(ret->provider);
    return has_input && (has_output || !produces_tokens(text_of(entry, "mode")));
}

static bool is_name(struct str s)
{
    return s.len > 0 && memchr(s.data, '\0', s.len) == NULL && utf8_count(s) <= MODEL_MAX;
}

static void read_litellm(yyjson_val *root, struct price_import *import, struct walk *w)
{
    size_t n = unsafe_yyjson_get_len(root), kept = 0;
    struct price_create *entries = ARENA_ARRAY(w->arena, struct price_create, n);
    yyjson_val *name = unsafe_yyjson_get_first(root);

    for (size_t i = 0; i < n; i++, name = unsafe_yyjson_get_next(name + 1)) {
        w->model = json_str(name);
        if (str_eq_c(w->model, "sample_spec")) {
            import->skipped++;
            continue;
        }
        if (!unsafe_yyjson_is_obj(name + 1)) {
            add_problem(w, NULL, name + 1, "Should be an object with the prices of a model");
            continue;
        }
        if (!read_litellm_entry(w, name + 1, &entries[kept])) {
            import->skipped++;
            continue;
        }
        if (!is_name(w->model))
            add_problem(w, NULL, name + 1, "Should be the name of a model, at most 256 characters");
        if (!is_name(entries[kept].provider) && entries[kept].provider.len > 0)
            add_problem(w, "litellm_provider", name + 1, "Should be at most 256 characters");
        kept++;
    }
    import->entries = (struct list){ entries, kept };
}

/* An entry's index, and the key it is sorted by. */
struct entry_key {
    size_t index;
    struct str model;
    int64_t valid_from;
};

static int by_key(const void *a, const void *b)
{
    const struct entry_key *x = a, *y = b;
    int order = str_cmp(x->model, y->model);

    if (order != 0)
        return order;
    if (x->valid_from != y->valid_from)
        return x->valid_from < y->valid_from ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

/* Refuses two prices of one model with the same valid_from, and sorts the entries by model and
 * valid_from. */
static void check_unique(struct price_import *import, struct arena *arena,
                         struct problems *problems)
{
    const struct price_create *entries = import->entries.items;
    size_t n = import->entries.n;
    struct entry_key *keys = ARENA_ARRAY(arena, struct entry_key, n);
    struct price_create *ordered = ARENA_ARRAY(arena, struct price_create, n);

    for (size_t i = 0; i < n; i++)
        keys[i] = (struct entry_key){ i, entries[i].model, entries[i].valid_from };
    if (n > 0)
        qsort(keys, n, sizeof(*keys), by_key);
    for (size_t i = 0; i < n; i++) {
        const struct path_step path[] = {
            { .name = STR_LIT("prices") },
            { .name = STR_LIT("prices") },
            { .index = keys[i].index },
        };

        ordered[i] = entries[keys[i].index];
        if (i > 0 && str_eq(keys[i].model, keys[i - 1].model) &&
            keys[i].valid_from == keys[i - 1].valid_from)
            problems_add_rule(problems, path, 3, STR_NULL,
                              "The file has another price of this model with the same valid_from");
    }
    import->entries.items = ordered;
}

static void read_muster(const struct json_doc *doc, struct price_import *import,
                        struct arena *arena, struct problems *problems)
{
    static const struct field rows = {
        .name = "prices", .type = T_LIST, .max = PRICES_MAX, .nested = &price_create_shape
    };
    const struct reader r = {
        .arena = arena, .problems = problems, .plain = doc->plain, .bignums = doc->bignums
    };
    const struct path_step outer = { .member = "prices" };
    const struct path_step inner = { .up = &outer, .member = "prices" };
    yyjson_val *list = member_of(doc->root, "prices");

    if (list == NULL)
        problems_add_rule(problems, &(const struct path_step){ .name = STR_LIT("prices") }, 1,
                          STR_NULL, "Should be an object with a list of prices under \"prices\"");
    else if (check_list(&r, &inner, &rows, list, &import->entries))
        check_unique(import, arena, problems);
}

void price_file_read(struct price_import *import, struct arena *arena, struct problems *problems)
{
    static const char too_long[] = "Should have at most 20000 models";
    const struct path_step here = { .name = STR_LIT("prices") };
    struct walk w = { .arena = arena, .problems = problems };
    struct json_fault fault;
    struct json_doc doc;

    if (json_read(import->prices, arena, &doc, &fault) != 0 || !unsafe_yyjson_is_obj(doc.root)) {
        problems_add_rule(problems, &here, 1, STR_NULL, "Should be a JSON object");
        return;
    }
    if (import->format == PRICE_MUSTER)
        read_muster(&doc, import, arena, problems);
    else if (unsafe_yyjson_get_len(doc.root) > PRICES_MAX)
        problems_add_rule(problems, &here, 1, STR_NULL, too_long);
    else
        read_litellm(doc.root, import, &w);
}

int64_t price_file_as_of(struct str text, struct arena *arena)
{
    struct json_fault fault;
    struct json_doc doc;
    struct str day;
    int64_t at;

    if (json_read(text, arena, &doc, &fault) != 0 || !unsafe_yyjson_is_obj(doc.root))
        return TIME_NULL;
    day = text_of(doc.root, "as_of");
    return datetime_parse(arena_printf(arena, "%.*sT00:00:00Z", STR_ARG(day)), &at) == NULL
               ? at
               : TIME_NULL;
}

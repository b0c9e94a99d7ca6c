/* price_shapes.c - the shapes of prices, and the entries of a price file. */
#include "features/cost/price_shapes.h"

#include <stdlib.h>

#include "base/datetime.h"
#include "features/cost/money.h"
#include "shape/check.h"
#include "shape/json.h"
#include "shape/problems.h"
#include "shape/table.h"
#include "shape/timerange.h"

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
static bool read_litellm_amount(const struct walk *w, yyjson_val *entry, const char *name,
                                int64_t *ret)
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
    has_input = read_litellm_amount(w, entry, "input_cost_per_token", &amounts->input);
    has_output = read_litellm_amount(w, entry, "output_cost_per_token", &amounts->output);
    amounts->cache_read.has =
        read_litellm_amount(w, entry, "cache_read_input_token_cost", &amounts->cache_read.value);
    amounts->cache_write.has = read_litellm_amount(w, entry, "cache_creation_input_token_cost",
                                                   &amounts->cache_write.value);
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

enum { NAME_MAX_LEN = 256, ALIASES_MAX = 100 };

static const char *const price_formats[] = { "litellm", "muster", NULL };

static int count_digits(struct str number)
{
    int n = 0;

    for (size_t i = 0; i < number.len && number.data[i] != 'e' && number.data[i] != 'E'; i++)
        if (number.data[i] >= '0' && number.data[i] <= '9' && (n > 0 || number.data[i] != '0'))
            n++;
    return n;
}

/* A string holds the decimal itself. A number was parsed as a double, so it is accepted only up to
 * the digits that a double preserves. */
static const char *read_amount(struct str json, int64_t *ret)
{
    if (json.len >= 2 && json.data[0] == '"')
        return money_parse(str_from(json.data + 1, json.len - 2), MONEY_DECIMALS, ret);
    if (count_digits(json) > MONEY_NUMBER_DIGITS_MAX)
        return "Should be a string when it has more than 15 digits";
    return money_parse(json, MONEY_DECIMALS, ret);
}

static void refuse(struct problems *problems, const char *name, struct str json,
                   const char *sentence)
{
    const struct path_step step = { .name = str_of(name) };

    problems_add_rule(problems, &step, 1, json.len > PROBLEM_INPUT_MAX ? STR_NULL : json, sentence);
}

static void check_amount(struct problems *problems, const char *name, struct str json, int64_t *ret)
{
    const char *sentence = read_amount(json, ret);

    if (sentence != NULL)
        refuse(problems, name, json, sentence);
}

static void check_optional(struct problems *problems, const char *name, struct str json,
                           struct opt_int *ret)
{
    ret->has = !str_is_null(json);
    if (ret->has)
        check_amount(problems, name, json, &ret->value);
}

static void check_price(void *value, struct arena *arena, struct problems *problems)
{
    struct price_create *p = value;
    const struct str *aliases = p->aliases.items;

    check_amount(problems, "input", p->input, &p->amounts.input);
    check_amount(problems, "output", p->output, &p->amounts.output);
    check_optional(problems, "cache_read", p->cache_read, &p->amounts.cache_read);
    check_optional(problems, "cache_write", p->cache_write, &p->amounts.cache_write);
    for (size_t i = 0; i < p->aliases.n; i++)
        if (aliases[i].len == 0 || aliases[i].len > (size_t)4 * NAME_MAX_LEN) {
            rule_refuse_text(problems, arena, "aliases", aliases[i],
                             "Should be names of 1 to 1024 bytes");
            break;
        }
}

static void check_import(void *value, struct arena *arena, struct problems *problems)
{
    price_file_read(value, arena, problems);
}

#define USD_DOC "USD per million tokens: a number or a decimal string, with at most 12 decimals."

/* clang-format off */
SHAPE(price_create, "PriceCreate", (.doc = "A model's price per million tokens.", .rules = check_price,
      .example = EXAMPLE({"model": "gpt-5-mini", "provider": "openai", "input": "0.25", "output": "2.00", "cache_read": "0.025", "aliases": ["gpt-5-mini-latest"]})),
    STR(model,                 .min = 1, .max = NAME_MAX_LEN, .flags = F_REQUIRED, .doc = "Name of the LLM model."),
    STR(provider,              .max = NAME_MAX_LEN, .absent = "\"\"", .doc = "Who offers the model; empty: not stated."),
    JSON(input,                .flags = F_REQUIRED, .doc = USD_DOC),
    JSON(output,               .flags = F_REQUIRED, .doc = USD_DOC),
    JSON(cache_read,           .flags = F_NULL, .doc = USD_DOC " Null: same as input."),
    JSON(cache_write,          .flags = F_NULL, .doc = USD_DOC " Null: same as input."),
    BOOL(input_includes_cache, .absent = "false", .doc = "Whether input tokens include cached tokens, of reports that do not say it."),
    TIME(valid_from,           .flags = F_NULL, .doc = "Null: no start date."),
    LIST_STR(aliases,          .max = ALIASES_MAX, .absent = "[]", .doc = "Other names under which the model is reported."));

SHAPE(price, "Price", (.doc = "A model's price per million tokens from a start date.",
      .example = EXAMPLE({"price_id": 7, "model": "gpt-5-mini", "provider": "openai", "input": "0.25", "output": "2.00", "cache_read": "0.025", "aliases": ["gpt-5-mini-latest"]})),
    INT(price_id,              .flags = F_REQUIRED, .doc = "Identifies the price."),
    STR(model,                 .flags = F_REQUIRED, .doc = "Name of the LLM model."),
    STR(provider,              .flags = F_REQUIRED, .doc = "Who offers the model; empty: not stated."),
    STR(input,                 .flags = F_REQUIRED, .doc = "USD per million tokens, as a decimal."),
    STR(output,                .flags = F_REQUIRED, .doc = "USD per million tokens, as a decimal."),
    STR(cache_read,            .flags = F_REQUIRED | F_NULL, .doc = "USD per million tokens, as a decimal. Null: same as input."),
    STR(cache_write,           .flags = F_REQUIRED | F_NULL, .doc = "USD per million tokens, as a decimal. Null: same as input."),
    BOOL(input_includes_cache, .flags = F_REQUIRED, .doc = "Whether input tokens include cached tokens, of reports that do not say it."),
    TIME(valid_from,           .flags = F_REQUIRED | F_NULL, .doc = "Null: no start date."),
    LIST_STR(aliases,          .flags = F_REQUIRED, .doc = "Other names under which the model is reported."),
    TIME(updated_at,           .flags = F_REQUIRED, .doc = "When it was last changed."),
    TIME(built_in_as_of,       .flags = F_REQUIRED | F_NULL, .doc = "Date of the built-in list of published prices that it comes from. Null: set or imported by a person."));

LIST_SHAPE(price_list, "PriceList", (.doc = "Prices, by model and start date."),
    ITEMS("prices", price_shape, .flags = F_REQUIRED, .doc = "The prices."));

SHAPE(price_import, "PriceImport", (.doc = "A price file to import.", .rules = check_import,
      .example = EXAMPLE({"format": "muster", "prices": {"prices": [{"model": "gpt-5-mini", "input": "0.25", "output": "2.00"}]}})),
    ENUM(format,     .absent = "\"litellm\"", .choices = price_formats, .doc = "litellm: the price file of that project; muster: as this service lists prices."),
    TIME(valid_from, .flags = F_NULL, .doc = "Null: new models have no start date, changed prices start now."),
    JSON(prices,     .flags = F_REQUIRED, .doc = "litellm: {model: {input_cost_per_token, …}}; muster: {\"prices\": [PriceCreate]}."));

SHAPE(price_imported, "PriceImported", (.doc = "Result of importing a price file.",
      .example = EXAMPLE({"added": 1, "updated": 0, "unchanged": 0, "skipped": 0})),
    INT(added,     .flags = F_REQUIRED, .doc = "New rows."),
    INT(updated,   .flags = F_REQUIRED, .doc = "Rows that existed with the same start date, whose aliases changed, or which were built in."),
    INT(unchanged, .flags = F_REQUIRED, .doc = "Rows that were stored before."),
    INT(skipped,   .flags = F_REQUIRED, .doc = "Entries without token prices."));

SHAPE(prices_query, "PricesQuery", (),
    STR(model, .flags = F_NULL, .doc = "Only the prices that apply to usage of this model."));

SHAPE(price_path, "PricePath", (.example = EXAMPLE({"price_id": 7})),
    INT(price_id, .flags = F_REQUIRED, .doc = "Identifies the price."));
/* clang-format on */

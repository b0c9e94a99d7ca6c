/* price_shapes.c - the shapes of prices. */
#include "features/cost/price_shapes.h"

#include "features/cost/money.h"
#include "features/cost/price_file.h"
#include "shape/problems.h"
#include "shape/table.h"
#include "shape/timerange.h"

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

/* feature.c - the commands for prices, and what a transaction adds to the sums of usage. */
#include "engine/feature.h"

#include <string.h>

#include "cli/command.h"
#include "cli/request.h"
#include "engine/engine.h"
#include "features/cost/llm_totals.h"
#include "features/cost/price_shapes.h"
#include "features/cost/prices.h"
#include "features/cost/reports.h"
#include "features/cost/usage.h"
#include "features/events/runs.h"
#include "features/features.h"

/* Without --format: our own files have "prices" at the top, LiteLLM's have models there. */
static const char *price_format(const struct invocation *in, struct str file)
{
    static const char own[] = "\"prices\"";
    const char *given = command_value(in, "format");

    if (given != NULL)
        return given;
    return memmem(file.data, file.len, own, sizeof(own) - 1) != NULL ? "muster" : "litellm";
}

/* The file goes into the body as it is: the service refuses a wrong one, with the reason. */
static int price_import_bind(struct invocation *in, struct str *ret, struct error *err)
{
    const size_t bytes_max = MIB(16) - 1; /* more than the service takes */
    const char *from = command_value(in, "valid-from");
    struct str file = STR_LIT("");
    BUF_SCOPED(out, bytes_max + KIB(64));

    if (request_file(in, command_value(in, "file"), bytes_max, &file, err) != 0)
        return -1;
    buf_add_c(&out, "{\"format\":");
    buf_add_json(&out, str_of(price_format(in, file)));
    buf_add_c(&out, ",\"valid_from\":");
    if (from == NULL)
        buf_add_c(&out, "null");
    else
        buf_add_json(&out, str_of(from));
    buf_add_c(&out, ",\"prices\":");
    buf_add(&out, file);
    buf_add_char(&out, '}');
    *ret = buf_take(&out, &in->arena);
    return 0;
}

#define PRICES "/api/v1/platform/prices"
#define PRICE_LINE                                                                                 \
    "{price_id:-6} {model:-40}  input {input}  output {output}"                                    \
    "{cache_read?  cache read {cache_read}}{cache_write?  cache write {cache_write}}"              \
    "{input_includes_cache?  input includes cache}  {valid_from?from {valid_from}|always}"

/* clang-format off */
static const struct command cost_commands[] = {
    { "price", "set", .args = { { "model", OPTION_TEXT, "MODEL", .help = "name of the model" } },
      .options = OPTIONS({ "input", OPTION_TEXT, "USD", .help = "price per million input tokens", .required = true },
                         { "output", OPTION_TEXT, "USD", .help = "price per million output tokens", .required = true },
                         { "cache-read", OPTION_TEXT, "USD", .help = "price per million tokens read from the cache; without it as input" },
                         { "cache-write", OPTION_TEXT, "USD", .help = "price per million tokens written to the cache; without it as input" },
                         { "input-includes-cache", OPTION_FLAG, .help = "reported input tokens include the cached ones" },
                         { "provider", OPTION_TEXT, "NAME", .help = "provider of the model" },
                         { "valid-from", OPTION_TIME, .help = "start of the price; without it always" }),
      .help = "set a model's price per million tokens, optionally from a date",
      .examples = "muster price set claude-sonnet-4 --input 3 --output 15 --cache-read 0.3",
      .method = METHOD_POST, .path = PRICES, .body = &price_create_shape,
      .answer = &price_shape, .line = PRICE_LINE },
    { "price", "import", .args = { { "file", OPTION_FILE, "FILE.json", .help = "file of prices" } },
      .options = OPTIONS({ "format", OPTION_TEXT, "litellm|muster", .help = "form of the file; without it its content decides" },
                         { "valid-from", OPTION_TEXT, "DATE-TIME", .help = "start of the prices" }),
      .help = "import a price file (all or nothing)",
      .examples = "muster price import prices.json --format litellm",
      .method = METHOD_POST, .path = PRICES "/import", .bind = price_import_bind,
      .answer = &price_imported_shape,
      .line = "{added} added, {updated} updated, {unchanged} unchanged, {skipped} without token prices" },
    { "price", "list",
      .options = OPTIONS({ "model", OPTION_TEXT, "MODEL", .help = "only the prices that this model's usage is charged at" }),
      .help = "list the prices and where they come from",
      .examples = "muster price list --model claude-sonnet-4",
      .method = METHOD_GET, .path = PRICES, .answer = &price_list_shape, .list = "prices",
      .columns = COLUMNS({ "ID", .cell = "{price_id}" }, { "MODEL", .cell = "{model}" }, { "INPUT", .cell = "{input}" }, { "OUTPUT", .cell = "{output}" },
                         { "CACHE READ", .cell = "{cache_read}" }, { "CACHE WRITE", .cell = "{cache_write}" },
                         { "INPUT INCLUDES CACHE", .cell = "{input_includes_cache?yes|no}" }, { "FROM", .cell = "{valid_from?{valid_from}|always}" },
                         { "SOURCE", .cell = "{built_in_as_of?built in, as of {built_in_as_of}|set or imported}" }) },
    { "price", "delete", .args = { { "id", OPTION_NAME, "ID", .help = "id of the price, as `price list` shows it" } },
      .help = "delete a price",
      .examples = "muster price delete 7",
      .method = METHOD_DELETE, .path = PRICES "/{id}", .answer = &price_shape, .line = PRICE_LINE },
    { 0 },
};
/* clang-format on */

struct prices *cost_prices(const struct engine *e)
{
    return engine_state(e, &cost_feature);
}

static int cost_open(struct engine *e, void **ret_state, struct error *err)
{
    *ret_state = prices_new();
    events_on_spending(e, cost_of_runs);
    return built_in_prices_add(engine_open_db(e), err);
}

static void cost_close(void *state)
{
    prices_free(state);
}

static void cost_txn_open(struct engine *e, struct txn *txn)
{
    (void)e;
    txn_set_part(txn, llm_totals_part, llm_totals_new());
}

static void cost_txn_close(struct txn *txn)
{
    llm_totals_free(llm_totals_of(txn));
}

static int cost_txn_settle(struct txn *txn, struct error *err)
{
    return llm_totals_save(llm_totals_of(txn), txn->db, err);
}

static void cost_txn_reset(struct txn *txn)
{
    llm_totals_clear(llm_totals_of(txn));
}

const struct feature cost_feature = {
    .name = "cost",
    .about = "LLM usage, prices of models, and what usage costs.",
    .routes = { llm_report_routes, usage_routes, price_routes },
    .commands = { cost_commands },
    .open = cost_open,
    .close = cost_close,
    .txn = { .open = cost_txn_open,
             .close = cost_txn_close,
             .settle = cost_txn_settle,
             .committed = cost_txn_reset,
             .rolled_back = cost_txn_reset },
};

/* price_routes.c - the platform's price list: all may read it, platform admins change it. */
#include "features/cost/prices.h"

#include "api/api.h"
#include "api/call.h"
#include "base/buf.h"
#include "engine/engine.h"
#include "features/access/shapes.h"
#include "features/cost/price_shapes.h"
#include "features/cost/routes.h"

static int list_prices(struct api_call *call, struct db *db, struct error *err)
{
    return prices_list(cost_prices(call->api->engine), db, call->query, call->arena, call->answer,
                       err);
}

/* What was done, for the audit log: the answer itself. */
static void note(struct api_call *call, struct str target)
{
    BUF_SCOPED(text, KIB(64));

    shape_write_json(call->route->answer, call->answer, &text);
    call->audit_target = target;
    if (!text.overflown)
        call->audit_detail = arena_copy(call->arena, buf_str(&text));
}

static int set_price(struct api_call *call, struct db *db, struct error *err)
{
    struct price *answer = call->answer;

    if (prices_set(db, call->body, call->arena, answer, err) != 0)
        return -1;
    note(call, answer->model);
    return 0;
}

static int remove_price(struct api_call *call, struct db *db, struct error *err)
{
    const struct price_path *path = call->params;
    struct price *answer = call->answer;

    if (prices_remove(db, path->price_id, call->arena, answer, err) != 0)
        return -1;
    note(call, answer->model);
    return 0;
}

static int import_prices(struct api_call *call, struct db *db, struct error *err)
{
    if (prices_import(db, call->body, call->arena, call->answer, err) != 0)
        return -1;
    note(call, STR_LIT("prices"));
    return 0;
}

/* clang-format off */
const struct route price_routes[] = {
    { ROUTE(GET, "/api/v1/platform/prices", PLATFORM, 200), .read = list_prices, .query = &prices_query_shape, .answer = &price_list_shape,
      .id = "list_prices", .summary = "List model prices",
      .description = "USD per million tokens. With `model` it answers the prices that a reported model name resolves to, by name, alias, without provider prefix and without date suffix." },
    { ROUTE(POST, "/api/v1/platform/prices", PLATFORM, 201), .change = set_price, .topic = CHANGE_NOTHING, .body = &price_create_shape, .answer = &price_shape, .audit = "price.set",
      .id = "set_price", .summary = "Set a model's price",
      .description = "In effect from `valid_from`, or for all times without it. Replaces a price with the same model and `valid_from`." },
    { ROUTE(POST, "/api/v1/platform/prices/import", PLATFORM, 200), .change = import_prices, .topic = CHANGE_NOTHING, .body = &price_import_shape, .answer = &price_imported_shape, .limit = LIMIT_BUSINESS, .audit = "price.import",
      .id = "import_prices", .summary = "Import a price file (all or nothing)",
      .description = "Accepts LiteLLM's price file or `{\"prices\": [...]}` as the list answers it. One invalid entry makes it 422, and nothing changes." },
    { ROUTE(DELETE, "/api/v1/platform/prices/{price_id}", PLATFORM, 200), .change = remove_price, .topic = CHANGE_NOTHING, .params = &price_path_shape, .answer = &price_shape, .audit = "price.rm",
      .id = "delete_price", .summary = "Delete a price",
      .description = "Usage in its time is then priced by the preceding price of the model, if there is one." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/prices", READ, 200), .read = list_prices, .params = &tenant_path_shape, .query = &prices_query_shape, .answer = &price_list_shape,
      .id = "list_tenant_prices", .summary = "List model prices for a workspace",
      .description = "The platform's price list, readable with a workspace key." },
    { 0 },
};
/* clang-format on */

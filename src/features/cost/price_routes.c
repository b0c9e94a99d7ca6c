/* price_routes.c - the platform's price list: all may read it, platform admins change it. */
#include "api/api.h"
#include "api/call.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/map.h"
#include "features/access/shapes.h"
#include "features/cost/money.h"
#include "features/cost/price_shapes.h"
#include "features/cost/prices.h"

static struct str amount_text(int64_t amount, struct arena *arena)
{
    char text[MONEY_TEXT_MAX];

    return arena_copy(arena, money_format(amount, text));
}

static struct str optional_text(struct opt_int amount, struct arena *arena)
{
    return amount.has ? amount_text(amount.value, arena) : STR_NULL;
}

/* Copies the strings: the row may belong to a book that is released. */
static void fill_price(const struct price_row *row, struct arena *arena, struct price *ret)
{
    const struct str *names = row->aliases.items;
    struct str *copies = ARENA_ARRAY(arena, struct str, row->aliases.n);

    for (size_t i = 0; i < row->aliases.n; i++)
        copies[i] = arena_copy(arena, names[i]);
    *ret = (struct price){
        .price_id = row->price_id,
        .model = arena_copy(arena, row->model),
        .provider = arena_copy(arena, row->provider),
        .input = amount_text(row->amounts.input, arena),
        .output = amount_text(row->amounts.output, arena),
        .cache_read = optional_text(row->amounts.cache_read, arena),
        .cache_write = optional_text(row->amounts.cache_write, arena),
        .input_includes_cache = row->input_includes_cache,
        .valid_from = row->valid_from,
        .aliases = { copies, row->aliases.n },
        .updated_at = row->updated_at,
        .built_in_as_of = row->built_in_as_of,
    };
}

/* With a model in the query: the prices that apply to its usage. */
static int list_prices(struct api_call *call, struct db *db, struct error *err)
{
    const struct prices_query *query = call->query;
    struct listing *ret = call->answer;
    struct arena *arena = call->arena;
    struct price_history rows;
    struct price_book *book;
    struct price *prices;

    if (prices_book(cost_prices(call->api->engine), db, &book, err) != 0)
        return -1;
    rows = str_is_null(query->model) ? price_book_all(book) : price_book_find(book, query->model);
    prices = ARENA_ARRAY(arena, struct price, rows.n);
    for (size_t i = 0; i < rows.n; i++)
        fill_price(&rows.rows[i], arena, &prices[i]);
    ret->list = (struct list){ prices, rows.n };
    price_book_release(book);
    return 0;
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

/* A change of the list. */
struct edit {
    struct db *db;
    struct price_book *book; /* before the change */
    struct map aliases;      /* set by this change -> struct str, the model */
    size_t n;                /* number of rows */
    int64_t now;
    struct arena *arena;

    /* for an import */
    const struct price_row *before; /* row of the previous entry of the same model, or NULL */
    struct price_imported counts;
};

static int edit_init(struct edit *edit, struct db *db, struct arena *arena, struct error *err)
{
    *edit = (struct edit){ .db = db, .now = clock_wall_us(), .arena = arena };
    map_init(&edit->aliases);
    if (price_book_load(db, &edit->book, err) != 0)
        return -1;
    edit->n = price_book_all(edit->book).n;
    return 0;
}

static void edit_done(struct edit *edit)
{
    map_done(&edit->aliases);
    price_book_release(edit->book);
}

/* An alias belongs to one model only; a built-in price gives way. */
static int check_aliases(struct edit *edit, const struct price_create *entry, struct error *err)
{
    const struct str *names = entry->aliases.items;
    struct str *model_name = ARENA_NEW(edit->arena, struct str);

    *model_name = entry->model;
    for (size_t i = 0; i < entry->aliases.n; i++) {
        struct price_history other = price_book_alias(edit->book, names[i]);
        const struct str *before = map_get(&edit->aliases, names[i]);
        bool taken = other.n > 0 && !price_is_built_in(&other);
        struct str model = taken ? other.rows->model : entry->model;

        if (before != NULL)
            model = *before;
        if (!str_eq(model, entry->model))
            return err_set(err, ERR_CONFLICT, "The alias '%.*s' belongs to model '%.*s' already",
                           STR_ARG(names[i]), STR_ARG(model));
        (void)map_put(&edit->aliases, names[i], model_name);
    }
    return 0;
}

static int put_price(struct edit *edit, const struct price_create *entry, int64_t valid_from,
                     struct price_row *ret, struct error *err)
{
    *ret = (struct price_row){ .model = entry->model,
                               .provider = entry->provider,
                               .amounts = entry->amounts,
                               .input_includes_cache = entry->input_includes_cache,
                               .valid_from = valid_from,
                               .aliases = entry->aliases,
                               .updated_at = edit->now,
                               .built_in_as_of = TIME_NULL };
    return prices_put(edit->db, ret, err);
}

static bool is_at(const struct price_row *row, int64_t valid_from)
{
    return row != NULL && row->valid_from == valid_from;
}

static int check_room(const struct edit *edit, struct error *err)
{
    if (edit->n <= PRICES_MAX)
        return 0;
    return err_set(err, ERR_CONFLICT, "The price list is full: it holds at most %d prices",
                   PRICES_MAX);
}

/* Replaces a price with the same model and valid_from. ERR_CONFLICT: an alias belongs to another
 * model, or the list is full. */
static int set_price(struct api_call *call, struct db *db, struct error *err)
{
    const struct price_create *create = call->body;
    struct price_history history;
    struct price_row row;
    struct edit edit;
    int r = -1;

    if (edit_init(&edit, db, call->arena, err) != 0 || check_aliases(&edit, create, err) != 0)
        goto out;
    history = price_book_exact(edit.book, create->model);
    edit.n += !is_at(price_in_force(&history, create->valid_from), create->valid_from);
    if (check_room(&edit, err) != 0 || put_price(&edit, create, create->valid_from, &row, err) != 0)
        goto out;
    fill_price(&row, call->arena, call->answer);
    note(call, row.model);
    r = 0;
out:
    edit_done(&edit);
    return r;
}

static int remove_price(struct api_call *call, struct db *db, struct error *err)
{
    const struct price_path *path = call->params;
    struct price_row row;

    if (prices_delete(db, path->price_id, call->arena, &row, err) != 0)
        return -1;
    fill_price(&row, call->arena, call->answer);
    note(call, row.model);
    return 0;
}

static bool same_optional(struct opt_int a, struct opt_int b)
{
    return a.has == b.has && (!a.has || a.value == b.value);
}

static bool costs_the_same(const struct price_row *row, const struct price_create *entry)
{
    const struct price_amounts *a = &row->amounts, *b = &entry->amounts;

    return a->input == b->input && a->output == b->output &&
           same_optional(a->cache_read, b->cache_read) &&
           same_optional(a->cache_write, b->cache_write) &&
           row->input_includes_cache == entry->input_includes_cache;
}

static bool is_named_the_same(const struct price_row *row, const struct price_create *entry)
{
    const struct str *a = row->aliases.items, *b = entry->aliases.items;

    if (!str_eq(row->provider, entry->provider) || row->aliases.n != entry->aliases.n)
        return false;
    for (size_t i = 0; i < entry->aliases.n; i++)
        if (!str_eq(a[i], b[i]))
            return false;
    return true;
}

/* When an entry becomes valid. `beside`: the file has other entries of its model. */
static int64_t valid_from_of(const struct edit *edit, const struct price_import *import,
                             const struct price_create *entry, bool beside)
{
    struct price_history history;

    if (entry->valid_from != TIME_NULL)
        return entry->valid_from;
    if (import->valid_from != TIME_NULL)
        return import->valid_from;
    history = price_book_exact(edit->book, entry->model);
    if (beside || history.n == 0 || price_is_built_in(&history))
        return TIME_NULL;
    return edit->now;
}

/* The row that an entry is compared with: in effect at `at`, with the entries before it applied. */
static const struct price_row *row_at(const struct edit *edit, struct str model, int64_t at)
{
    struct price_history history = price_book_exact(edit->book, model);
    const struct price_row *row = price_in_force(&history, at), *before = edit->before;

    if (before != NULL && before->valid_from <= at &&
        (row == NULL || before->valid_from >= row->valid_from))
        return before;
    return row;
}

static int import_entry(struct edit *edit, const struct price_create *entry, int64_t at,
                        struct error *err)
{
    const struct price_row *row = row_at(edit, entry->model, at);
    struct price_row *made;

    if (row != NULL && costs_the_same(row, entry)) {
        edit->before = row;
        if (is_named_the_same(row, entry) && row->built_in_as_of == TIME_NULL) {
            edit->counts.unchanged++;
            return 0;
        }
        at = row->valid_from;
    }
    edit->counts.updated += is_at(row, at);
    edit->counts.added += !is_at(row, at);
    edit->n += !is_at(row, at);
    made = ARENA_NEW(edit->arena, struct price_row);
    edit->before = made;
    return put_price(edit, entry, at, made, err);
}

static int import_all(struct edit *edit, const struct price_import *import, struct error *err)
{
    const struct price_create *entries = import->entries.items;
    size_t n = import->entries.n;

    edit->counts.skipped = import->skipped;
    for (size_t i = 0; i < n; i++) {
        bool follows = i > 0 && str_eq(entries[i].model, entries[i - 1].model);
        bool leads = i + 1 < n && str_eq(entries[i].model, entries[i + 1].model);
        int64_t at = valid_from_of(edit, import, &entries[i], follows || leads);

        if (!follows)
            edit->before = NULL;
        if (check_aliases(edit, &entries[i], err) != 0 ||
            import_entry(edit, &entries[i], at, err) != 0)
            return -1;
    }
    return check_room(edit, err);
}

/* An entry equal to the price in effect changes nothing. A new price is valid from the entry's
 * valid_from, or the import's. Without either it has no start if its model is new or has further
 * entries in the file, and otherwise starts now. */
static int import_prices(struct api_call *call, struct db *db, struct error *err)
{
    struct price_imported *answer = call->answer;
    struct edit edit;
    int r = -1;

    if (edit_init(&edit, db, call->arena, err) == 0) {
        r = import_all(&edit, call->body, err);
        *answer = edit.counts;
    }
    edit_done(&edit);
    if (r == 0)
        note(call, STR_LIT("prices"));
    return r;
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

/* usage.c - turns sums and reports into groups with their cost.
 *
 * Open groups are in a table. usage_groups_settle() moves them to the result,
 * which has a fixed size: when it is full, the cheapest groups are dropped. So
 * memory is bounded for any number of groups, as long as not too many are open
 * at once.
 */
#include "features/cost/usage.h"

#include <stdlib.h>

#include "api/api.h"
#include "api/call.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "base/map.h"
#include "base/mem.h"
#include "db/db.h"
#include "engine/engine.h"
#include "features/access/registry.h"
#include "features/access/retention.h"
#include "features/access/shapes.h"
#include "features/agents/agents.h"
#include "features/cost/llm_totals.h"
#include "features/cost/prices.h"
#include "features/cost/reports.h"
#include "shape/rows.h"

/* Open groups. */
enum { USAGE_OPEN_MAX = 100000 };

/* The key of a group; members not grouped by are 0 or STR_NULL. */
struct usage_key {
    struct str model, run_id, version;
    int64_t agent_id;
    int64_t day; /* its start */
};

struct usage_entry {
    struct usage_key key;
    struct str agent_name; /* STR_NULL when not grouped by */
    struct cost_sum sum;
};

struct usage_groups {
    bool by_day;
    const struct agent_name *agents; /* sorted by agent_id; NULL: not grouped by */
    size_t n_agents;

    struct map open;         /* key -> struct usage_entry */
    struct arena open_arena; /* of the open groups */
    struct buf key;          /* scratch space for a lookup */
    bool too_many;           /* more than USAGE_OPEN_MAX were open: the result is invalid */

    struct usage_entry *kept;
    size_t n_kept;
    struct arena arenas[2]; /* of the strings in `kept`: one in use, one to move to */
    bool truncated;
};

enum { KEPT_MAX = 2 * USAGE_GROUPS_MAX };

static void usage_groups_init(struct usage_groups *g, const struct agent_name *agents,
                              size_t n_agents, bool by_day)
{
    *g = (struct usage_groups){ .agents = agents, .n_agents = n_agents, .by_day = by_day };
    map_init(&g->open);
    arena_init(&g->open_arena);
    buf_init(&g->key, KIB(16));
    arena_init(&g->arenas[0]);
    arena_init(&g->arenas[1]);
    g->kept = mem_new(KEPT_MAX * sizeof(*g->kept));
}

static void usage_groups_done(struct usage_groups *g)
{
    map_done(&g->open);
    arena_done(&g->open_arena);
    buf_done(&g->key);
    arena_done(&g->arenas[0]);
    arena_done(&g->arenas[1]);
    free(g->kept);
}

static void add_number(struct buf *out, int64_t number)
{
    buf_add(out, str_from((const char *)&number, sizeof(number)));
}

/* The key as bytes, valid until the next call; names contain no NUL. */
static struct str group_bytes(struct usage_groups *g, const struct usage_key *key)
{
    buf_clear(&g->key);
    add_number(&g->key, key->agent_id);
    add_number(&g->key, key->day);
    buf_add(&g->key, key->model);
    buf_add_char(&g->key, '\0');
    buf_add(&g->key, key->run_id);
    buf_add_char(&g->key, '\0');
    buf_add(&g->key, key->version);
    return buf_str(&g->key);
}

static int by_agent_id(const void *a, const void *b)
{
    const struct agent_name *x = a, *y = b;

    return x->agent_id < y->agent_id ? -1 : x->agent_id > y->agent_id;
}

/* The usage of a deleted agent has no name. */
static struct str name_of(const struct usage_groups *g, int64_t agent_id)
{
    const struct agent_name wanted = { .agent_id = agent_id }, *found = NULL;

    if (g->agents == NULL)
        return STR_NULL;
    found = bsearch(&wanted, g->agents, g->n_agents, sizeof(wanted), by_agent_id);
    return found == NULL ? STR_LIT("") : found->name;
}

static void copy_texts(struct usage_key *key, struct arena *arena)
{
    key->model = arena_copy(arena, key->model);
    key->run_id = arena_copy(arena, key->run_id);
    key->version = arena_copy(arena, key->version);
}

static struct cost_sum *usage_groups_at(struct usage_groups *g, const struct usage_key *key)
{
    struct str bytes = group_bytes(g, key);
    struct usage_entry *entry = map_get(&g->open, bytes);

    if (entry != NULL)
        return &entry->sum;
    if (g->open.n == USAGE_OPEN_MAX) {
        g->too_many = true;
        return NULL;
    }
    entry = ARENA_NEW(&g->open_arena, struct usage_entry);
    entry->key = *key;
    copy_texts(&entry->key, &g->open_arena);
    entry->agent_name = name_of(g, key->agent_id);
    (void)map_put(&g->open, arena_copy(&g->open_arena, bytes), entry);
    return &entry->sum;
}

static int by_names(const struct usage_entry *x, const struct usage_entry *y)
{
    int order = str_cmp(x->key.model, y->key.model);

    if (order == 0)
        order = str_cmp(x->agent_name, y->agent_name);
    if (order == 0)
        order = str_cmp(x->key.run_id, y->key.run_id);
    if (order == 0)
        order = str_cmp(x->key.version, y->key.version);
    return order;
}

static int order_days(const struct usage_entry *x, const struct usage_entry *y)
{
    return x->key.day < y->key.day ? -1 : x->key.day > y->key.day;
}

static int by_cost(const struct usage_entry *x, const struct usage_entry *y)
{
    if (x->sum.priced != y->sum.priced)
        return x->sum.priced ? -1 : 1;
    return x->sum.cost > y->sum.cost ? -1 : x->sum.cost < y->sum.cost;
}

/* The order in which groups are kept. Both orders are total, so that SQLite and PostgreSQL give the
 * same answer. */
static int highest_cost_first(const void *a, const void *b)
{
    int order = by_cost(a, b);

    if (order == 0)
        order = order_days(a, b);
    return order != 0 ? order : by_names(a, b);
}

static int earliest_first(const void *a, const void *b)
{
    int order = order_days(a, b);

    if (order == 0)
        order = by_cost(a, b);
    return order != 0 ? order : by_names(a, b);
}

/* Drops the cheapest groups beyond the size of an answer, and their strings. */
static void drop_cheapest(struct usage_groups *g)
{
    struct arena from = g->arenas[0];

    qsort(g->kept, g->n_kept, sizeof(*g->kept), highest_cost_first);
    g->n_kept = USAGE_GROUPS_MAX;
    g->truncated = true;
    for (size_t i = 0; i < g->n_kept; i++)
        copy_texts(&g->kept[i].key, &g->arenas[1]);
    arena_reset(&from);
    g->arenas[0] = g->arenas[1];
    g->arenas[1] = from;
}

static void usage_groups_settle(struct usage_groups *g)
{
    const struct usage_entry *entry;
    size_t at = 0;

    while ((entry = map_next(&g->open, &at)) != NULL) {
        struct usage_entry *kept;

        if (g->n_kept == KEPT_MAX)
            drop_cheapest(g);
        kept = &g->kept[g->n_kept++];
        *kept = *entry;
        copy_texts(&kept->key, &g->arenas[0]);
    }
    map_done(&g->open);
    map_init(&g->open);
    arena_reset(&g->open_arena);
}

static void usage_groups_finish(struct usage_groups *g)
{
    usage_groups_settle(g);
    if (g->n_kept > USAGE_GROUPS_MAX)
        drop_cheapest(g);
    if (g->n_kept > 0)
        qsort(g->kept, g->n_kept, sizeof(*g->kept),
              g->by_day ? earliest_first : highest_cost_first);
}

enum { SPLITS_MAX = 100000 };

/* Sums that cannot be used as a whole: they are read in smaller parts. */
struct splits {
    struct map keys;    /* a set of start, agent and model */
    struct rows starts; /* int64_t, of the sums; unique after splits_sort() */
    bool too_many;
};

struct reading {
    const struct usage_request *request;
    struct arena *arena;
    struct price_book *book;
    struct llm_filter filter;
    struct usage_groups groups;
    struct cost_sum total;
    struct usage_kpi kpi;
    int64_t deleted_until; /* reports before this may be deleted; TIME_NULL: none */
    struct map unpriced;   /* models -> struct str */
    bool unpriced_truncated;

    struct buf model; /* the last one looked up; `history` has its prices */
    bool looked_up;
    struct price_history history;

    const struct splits *within; /* only usage within these counts; NULL: all */
    enum llm_width within_width;
    struct splits *splits; /* collects the sums to split */
    struct buf run_id;     /* of the run being read */
};

static struct str split_key(struct buf *buf, int64_t start, const struct llm_row *row)
{
    buf_clear(buf);
    buf_add(buf, str_from((const char *)&start, sizeof(start)));
    buf_add(buf, str_from((const char *)&row->agent_id, sizeof(row->agent_id)));
    buf_add(buf, row->model);
    return buf_str(buf);
}

static void note_split(struct reading *r, const struct llm_row *row)
{
    struct splits *s = r->splits;
    const int64_t *starts;
    struct str key;

    if (s->keys.n == SPLITS_MAX) {
        s->too_many = true;
        return;
    }
    key = arena_copy(r->arena, split_key(&r->groups.key, row->start, row));
    (void)map_put(&s->keys, key, r);
    starts = s->starts.items;
    if (s->starts.n == 0 || starts[s->starts.n - 1] != row->start)
        *(int64_t *)rows_add(&s->starts) = row->start;
}

static bool is_within(struct reading *r, const struct llm_row *row)
{
    int64_t start;

    if (r->within == NULL)
        return true;
    start = llm_totals_start(r->within_width, row->start);
    return map_get(&r->within->keys, split_key(&r->groups.key, start, row)) != NULL;
}

static const struct price_history *history_of(struct reading *r, struct str model)
{
    if (!r->looked_up || !str_eq(buf_str(&r->model), model)) {
        buf_clear(&r->model);
        buf_add(&r->model, model);
        r->looked_up = true;
        r->history = price_book_find(r->book, model);
    }
    return &r->history;
}

static void note_unpriced(struct reading *r, struct str model)
{
    struct str *copy;

    if (map_get(&r->unpriced, model) != NULL)
        return;
    if (r->unpriced.n == USAGE_UNPRICED_MAX) {
        r->unpriced_truncated = true;
        return;
    }
    copy = ARENA_NEW(r->arena, struct str);
    *copy = arena_copy(r->arena, model);
    (void)map_put(&r->unpriced, *copy, copy);
}

static void add_tokens(struct reading *r, const struct llm_row *row,
                       const struct cost_tokens *tokens, const struct price_row *price)
{
    unsigned groups = r->request->groups;
    struct usage_key key = { 0 };
    struct cost_sum *sum;

    if ((groups & GROUP_MODEL) != 0)
        key.model = row->model;
    if ((groups & GROUP_AGENT) != 0)
        key.agent_id = row->agent_id;
    if ((groups & GROUP_RUN) != 0)
        key.run_id = row->run_id;
    if ((groups & GROUP_VERSION) != 0)
        key.version = row->version;
    if ((groups & GROUP_DAY) != 0)
        key.day = llm_totals_start(LLM_DAY, row->start);
    sum = usage_groups_at(&r->groups, &key);
    if (sum != NULL)
        cost_add(sum, tokens, price);
    cost_add(&r->total, tokens, price);
    if (price == NULL)
        note_unpriced(r, row->model);
}

static void usage_on_report(void *ctx, const struct llm_row *row)
{
    struct reading *r = ctx;
    struct cost_tokens tokens;

    if (!is_within(r, row))
        return;
    tokens = cost_tokens_of(&row->counts);
    add_tokens(r, row, &tokens, price_in_force(history_of(r, row->model), row->start));
}

/* Reports are grouped by run: with the next run, the previous one's groups are complete. */
static void usage_on_run_report(void *ctx, const struct llm_row *row)
{
    struct reading *r = ctx;

    if (!str_eq(buf_str(&r->run_id), row->run_id)) {
        usage_groups_settle(&r->groups);
        buf_clear(&r->run_id);
        buf_add(&r->run_id, row->run_id);
    }
    usage_on_report(r, row);
}

/* An hour cannot be split when its reports may be deleted: it then counts as a whole, at the time
 * and price of its first report. */
static bool is_unsplittable(const struct reading *r, const struct llm_row *row)
{
    return r->within != NULL && row->start < r->deleted_until;
}

static void usage_on_sum(void *ctx, const struct llm_row *row)
{
    struct reading *r = ctx;
    const struct time_range *range = &r->request->range;
    const struct price_history *history;
    const struct price_row *price;
    struct cost_tokens tokens;

    if (row->last_at < range->since || row->first_at >= range->until || !is_within(r, row))
        return;
    history = history_of(r, row->model);
    price = price_in_force(history, row->first_at);
    if (row->n_large > 0 || row->first_at < range->since || row->last_at >= range->until ||
        price != price_in_force(history, row->last_at)) {
        if (!is_unsplittable(r, row)) {
            note_split(r, row);
            return;
        }
        if (row->first_at < range->since)
            return;
    }
    tokens = cost_tokens_of(&row->counts);
    tokens.fresh = row->fresh;
    add_tokens(r, row, &tokens, price);
}

static void splits_init(struct splits *s, struct arena *arena)
{
    *s = (struct splits){ .starts = { .arena = arena, .size = sizeof(int64_t) } };
    map_init(&s->keys);
}

static int by_value(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* Sorts the starts and removes repeats. */
static void splits_sort(struct splits *s)
{
    int64_t *starts = s->starts.items;
    size_t n = 0;

    if (s->starts.n > 0)
        qsort(starts, s->starts.n, sizeof(*starts), by_value);
    for (size_t i = 0; i < s->starts.n; i++)
        if (i == 0 || starts[i] != starts[i - 1])
            starts[n++] = starts[i];
    s->starts.n = n;
}

/* Reads the hours of split days, of which it collects those to split further; or the reports of
 * split hours. */
static int read_within(struct reading *r, struct db *db, struct splits *splits,
                       enum llm_width width, struct splits *further, struct error *err)
{
    const struct time_range *range = &r->request->range;
    const int64_t *starts = splits->starts.items;
    int status = 0;

    splits_sort(splits);
    r->within = splits;
    r->within_width = width;
    r->splits = further;
    for (size_t i = 0; i < splits->starts.n && status == 0; i++) {
        struct llm_filter filter = r->filter;

        filter.since = starts[i];
        filter.until = starts[i] + (width == LLM_DAY ? LLM_DAY_US : LLM_HOUR_US);
        if (width == LLM_DAY) {
            status = llm_usage_sums(db, &filter, LLM_HOUR, usage_on_sum, r, err);
            continue;
        }
        filter.since = filter.since < range->since ? range->since : filter.since;
        filter.until = filter.until > range->until ? range->until : filter.until;
        status = llm_usage_read(db, &filter, false, usage_on_report, r, err);
    }
    return status;
}

static int read_sums(struct reading *r, struct db *db, struct error *err)
{
    const struct time_range *range = &r->request->range;
    struct llm_filter filter = r->filter;
    struct splits days, hours;
    int status = -1;

    splits_init(&days, r->arena);
    splits_init(&hours, r->arena);
    if (range->since != TIME_NULL)
        filter.since = llm_totals_start(LLM_DAY, range->since);
    r->splits = &days;
    if (llm_usage_sums(db, &filter, LLM_DAY, usage_on_sum, r, err) == 0 &&
        read_within(r, db, &days, LLM_DAY, &hours, err) == 0 &&
        read_within(r, db, &hours, LLM_HOUR, NULL, err) == 0)
        status = 0;
    r->groups.too_many |= days.too_many || hours.too_many;
    r->splits = NULL;
    r->within = NULL;
    map_done(&days.keys);
    map_done(&hours.keys);
    return status;
}

/* Runs and versions have no sums: reads the reports of one run, of all runs in turn, or of all. */
static int read_groups(struct reading *r, struct db *db, struct error *err)
{
    const unsigned groups = r->request->groups;

    if (str_is_null(r->request->run_id) && (groups & GROUP_RUN) != 0)
        return llm_usage_read(db, &r->filter, true, usage_on_run_report, r, err);
    if (!str_is_null(r->request->run_id) || (groups & GROUP_VERSION) != 0)
        return llm_usage_read(db, &r->filter, false, usage_on_report, r, err);
    return read_sums(r, db, err);
}

static int read_all(struct reading *r, struct db *db, struct error *err)
{
    int status = read_groups(r, db, err);

    if (status == 0 && r->groups.too_many)
        return err_set(err, ERR_CONFLICT,
                       "There are more than %d groups; choose a shorter time_range",
                       USAGE_OPEN_MAX);
    return status;
}

static struct str day_text(int64_t day, struct arena *arena)
{
    char text[DATETIME_TEXT_MAX];
    struct str date = datetime_format(day, text);

    return arena_copy(arena, str_split(&date, 'T'));
}

static void fill_groups(struct reading *r, struct list *ret)
{
    struct usage_groups *g = &r->groups;
    unsigned by = r->request->groups;
    struct usage_part *parts;

    usage_groups_finish(g);
    parts = ARENA_ARRAY(r->arena, struct usage_part, g->n_kept);
    for (size_t i = 0; i < g->n_kept; i++) {
        const struct usage_entry *entry = &g->kept[i];

        if ((by & GROUP_MODEL) != 0)
            parts[i].model = arena_copy(r->arena, entry->key.model);
        if ((by & GROUP_AGENT) != 0)
            parts[i].agent_name = entry->agent_name;
        if ((by & GROUP_RUN) != 0)
            parts[i].run_id = arena_copy(r->arena, entry->key.run_id);
        if ((by & GROUP_VERSION) != 0)
            parts[i].agent_version = arena_copy(r->arena, entry->key.version);
        if ((by & GROUP_DAY) != 0)
            parts[i].day = day_text(entry->key.day, r->arena);
        cost_fill_answer(&entry->sum, r->arena, &parts[i].sums);
        usage_kpi_fill_part(&r->kpi, entry->key.agent_id, entry->key.day, &entry->sum,
                            &parts[i].sums);
    }
    *ret = (struct list){ parts, g->n_kept };
}

static int by_bytes(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static void fill_unpriced(struct reading *r, struct list *ret)
{
    struct str *names = ARENA_ARRAY(r->arena, struct str, r->unpriced.n);
    const struct str *name;
    size_t at = 0, n = 0;

    while ((name = map_next(&r->unpriced, &at)) != NULL)
        names[n++] = *name;
    if (n > 0)
        qsort(names, n, sizeof(*names), by_bytes);
    *ret = (struct list){ names, n };
}

static void fill_answer(struct reading *r, struct usage_answer *ret)
{
    *ret = (struct usage_answer){ .since = r->request->range.since,
                                  .until = r->request->range.until,
                                  .currency = STR_LIT("USD"),
                                  .total = ARENA_NEW(r->arena, struct usage_sums) };
    fill_groups(r, &ret->groups);
    cost_fill_answer(&r->total, r->arena, ret->total);
    usage_kpi_fill_total(&r->kpi, &r->total, ret->total);
    fill_unpriced(r, &ret->unpriced);
    ret->truncated = r->groups.truncated || r->unpriced_truncated;
}

/* Resolves the requested agent and reads the agents' names. *ret_there is false when the agent is
 * unknown. */
static int find_agents(struct reading *r, struct db *db, bool *ret_there, struct error *err)
{
    int64_t tenant_id = r->request->tenant->id;

    if (agents_filter_id(db, tenant_id, r->request->agent_name, &r->filter.agent_id, err) != 0)
        return -1;
    *ret_there = r->filter.agent_id >= 0;
    if ((r->request->groups & GROUP_AGENT) != 0) {
        struct list agents;

        if (agents_names(db, tenant_id, r->arena, &agents, err) != 0)
            return -1;
        r->groups.agents = agents.items;
        r->groups.n_agents = agents.n;
    }
    return 0;
}

static int read_usage(struct reading *r, struct db *db, struct usage_answer *ret, struct error *err)
{
    struct retention_marks marks;
    bool there;

    if (retention_load_marks(db, r->request->tenant->id, &marks, err) != 0)
        return -1;
    r->deleted_until = marks.llm_until;
    if (prices_book(r->request->prices, db, &r->book, err) != 0 ||
        find_agents(r, db, &there, err) != 0 || (there && read_all(r, db, err) != 0))
        return -1;
    if (there && !str_is_null(r->request->kpi) &&
        usage_kpi_read(&r->kpi, db, r->request, r->filter.agent_id, r->arena, err) != 0)
        return -1;
    fill_answer(r, ret);
    return 0;
}

int usage_read(struct db *db, const struct usage_request *request, struct arena *arena,
               struct usage_answer *ret, struct error *err)
{
    struct reading r = {
        .request = request,
        .arena = arena,
        .filter = { request->tenant->id, request->range.since, request->range.until, 0,
                    request->run_id },
    };
    int status;

    if (db_begin(db, err) != 0)
        return -1;
    usage_groups_init(&r.groups, NULL, 0, (request->groups & GROUP_DAY) != 0);
    map_init(&r.unpriced);
    map_init(&r.kpi.parts);
    buf_init(&r.run_id, KIB(1));
    buf_init(&r.model, KIB(2));
    status = read_usage(&r, db, ret, err);
    db_rollback(db);
    buf_done(&r.run_id);
    buf_done(&r.model);
    map_done(&r.unpriced);
    usage_kpi_done(&r.kpi);
    price_book_release(r.book);
    usage_groups_done(&r.groups);
    return status;
}

static int answer_usage(struct api_call *call, struct db *db, struct error *err)
{
    const struct usage_query *query = call->query;
    struct usage_request request = { .tenant = call->tenant,
                                     .prices = cost_prices(call->api->engine),
                                     .agent_name = query->agent_name,
                                     .run_id = query->run_id,
                                     .kpi = query->kpi };
    const char *sentence = timerange_parse(query->time_range, clock_wall_us(), &request.range);

    if (sentence == NULL)
        sentence = timerange_parse_groups(query->group_by, &request.groups);
    if (sentence != NULL) /* the query's rules have read both */
        return err_set(err, ERR_INTERNAL, "%s", sentence);
    return usage_read(db, &request, call->arena, call->answer, err);
}

/* clang-format off */
const struct route usage_routes[] = {
    { ROUTE(GET, "/api/v1/tenants/{slug}/llm/usage", READ, 200), .read = answer_usage, .also = ALSO_CONFLICT, .params = &tenant_path_shape, .query = &usage_query_shape, .answer = &usage_answer_shape, .tagged = true,
      .id = "get_llm_usage", .summary = "Get LLM usage and cost",
      .description = "Tokens and cost, grouped by `group_by`: `model`, `agent`, `run`, `day` or a comma-separated list of them. Tokens of models without a price are counted; their cost is unknown and the model is listed in `unpriced`." },
    { 0 },
};
/* clang-format on */

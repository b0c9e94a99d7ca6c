/* usage.c - turns sums and reports into groups with their cost. */
#include "features/cost/usage.h"

#include <stdlib.h>

#include "api/api.h"
#include "api/call.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "db/db.h"
#include "engine/engine.h"
#include "features/access/registry.h"
#include "features/access/retention.h"
#include "features/access/shapes.h"
#include "features/cost/prices.h"
#include "features/cost/report_store.h"
#include "features/cost/usage_groups.h"
#include "features/cost/usage_kpi.h"
#include "shape/rows.h"

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

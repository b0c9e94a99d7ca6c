/* run_list.c - SQL of pages of runs.
 *
 * Each statement scans a range of an index backwards: of all runs by start (runs_start), of an
 * agent's runs (runs_agent) or of a workflow's (runs_workflow). In PostgreSQL, runs without events
 * have no start and are in none of these indexes.
 */
#include "features/events/run_list.h"

#include "db/lists.h"
#include "features/events/run_state.h"
#include "features/events/shapes.h"
#include "shape/rows.h"

/* clang-format off */
#define BETWEEN                                                                                    \
    " WHERE r.tenant_id = $1 AND (r.start_at, r.run_id) < ($2, $3)"                                \
    " AND (r.start_at, r.run_id) >= ($4, $5)"
#define RUNS_BY(source)                                                                            \
    "SELECT r.run_no, r.run_id, a.agent_name, " RUN_STATE_COLUMNS " FROM " source                  \
    " JOIN agents a ON a.tenant_id = r.tenant_id AND a.agent_id = r.agent_id"
#define PAGE RUNS_BY("runs r") BETWEEN
#define CANDIDATES                                                                                 \
    "SELECT r.run_no, r.run_id, r.start_at FROM runs r"                                            \
    " JOIN agents a ON a.tenant_id = r.tenant_id AND a.agent_id = r.agent_id" BETWEEN
#define FLOOR "SELECT r.start_at, r.run_id FROM runs r" BETWEEN
#define NEWEST_FIRST " ORDER BY r.start_at DESC, r.run_id DESC"
#define OF_AGENT    " AND r.agent_id = $7 AND r.start_at IS NOT NULL"
#define OF_WORKFLOW " AND r.workflow_run_id = $7 AND r.start_at IS NOT NULL"

#define STATUS      "CASE WHEN r.closing_at IS NULL THEN -1 ELSE r.closing_event END"
#define IF_STATUS   " AND (CAST($8 AS BIGINT) IS NULL OR " STATUS " = $8)"

/* Only the beginning of a text is searched: texts of 16 KiB would make a page slow. */
#define HAS_PART(text) "LOWER(SUBSTR(" text ", 1, 1000)) LIKE LOWER(CAST($12 AS TEXT)) ESCAPE '!'"
#define IF_VALUES                                                                                  \
    IF_STATUS " AND (CAST($9 AS BIGINT) = 0 OR r.agent_id = $9)"                                   \
    " AND (CAST($10 AS TEXT) IS NULL OR r.agent_version = $10)"                                    \
    " AND (CAST($11 AS TEXT) IS NULL OR (COALESCE(r.error_type, '') = $11 AND " STATUS " = 2))"
#define IS_FOUND                                                                                   \
    "(CAST($12 AS TEXT) IS NULL OR " HAS_PART("a.agent_name")                                      \
    " OR " HAS_PART("r.error_type") " OR " HAS_PART("r.error_message")                             \
    " OR " HAS_PART("r.closing_message") " OR " HAS_PART("r.step_message") ")"
#define IF_MORE IF_VALUES " AND " IS_FOUND

/* $13 is an enum run_order, $14 is 1 for ascending, $15 the rows to skip. */
#define NUMBER_KEY                                                                                 \
    "CASE CAST($13 AS BIGINT) WHEN 0 THEN r.start_at WHEN 1 THEN r.duration_ms"                    \
    " WHEN 2 THEN r.records_processed WHEN 3 THEN r.event_count WHEN 4 THEN " STATUS " END"
#define TEXT_KEY                                                                                   \
    "CASE CAST($13 AS BIGINT) WHEN 5 THEN a.agent_name WHEN 6 THEN r.agent_version"                \
    " WHEN 7 THEN r.error_type END"
#define UP(key)   "CASE WHEN CAST($14 AS BIGINT) = 1 THEN " key " END"
#define DOWN(key) "CASE WHEN CAST($14 AS BIGINT) = 0 THEN " key " END"
#define SORTED(bytewise)                                                                           \
    " ORDER BY " UP(NUMBER_KEY) " ASC NULLS LAST, " DOWN(NUMBER_KEY) " DESC NULLS LAST, ("         \
    UP(TEXT_KEY) ")" bytewise " ASC NULLS LAST, (" DOWN(TEXT_KEY) ")" bytewise " DESC NULLS LAST,"  \
    " r.start_at DESC, r.run_id DESC LIMIT $6 OFFSET $15"

/* Separate from the filtered one, for which PostgreSQL would sort all runs: it expects filters to
 * leave few rows. */
const struct db_query run_list_page = { .sql = PAGE NEWEST_FIRST " LIMIT $6" };
const struct db_query run_list_agent_page = {
    .sql = PAGE OF_AGENT NEWEST_FIRST " LIMIT $6",
};
const struct db_query run_list_workflow_page = {
    .sql = PAGE OF_WORKFLOW NEWEST_FIRST " LIMIT $6",
};

/* $8 is the status, $9 the agent (0: any), $10 the version, $11 the error type (empty: none), $12 a pattern. For
 * all runs, $7 is unused and 0. */
DB_QUERY(filtered_page,
    PAGE " AND CAST($7 AS BIGINT) = 0" IF_MORE NEWEST_FIRST " LIMIT $6");
DB_QUERY(filtered_agent_page, PAGE OF_AGENT IF_MORE NEWEST_FIRST " LIMIT $6");
DB_QUERY(filtered_workflow_page, PAGE OF_WORKFLOW IF_MORE NEWEST_FIRST " LIMIT $6");

#define MATCHING(lane) { .sql = CANDIDATES lane IF_MORE NEWEST_FIRST " LIMIT $6" }
static const struct db_query matching = MATCHING(" AND CAST($7 AS BIGINT) = 0");
static const struct db_query matching_of_agent = MATCHING(OF_AGENT);
static const struct db_query matching_of_workflow = MATCHING(OF_WORKFLOW);

/* A run that does not have the part still counts among the newest. */
#define VALUES(lane) { .sql =                                                                      \
    "SELECT r.start_at, CASE WHEN " IS_FOUND " THEN 1 ELSE 0 END, " STATUS ", a.agent_name,"       \
    " r.agent_version, r.error_type, r.workflow_run_id FROM runs r"                                \
    " JOIN agents a ON a.tenant_id = r.tenant_id AND a.agent_id = r.agent_id" BETWEEN lane         \
    IF_VALUES NEWEST_FIRST " LIMIT $6" }
#define STATUSES(lane) { .sql =                                                                    \
    "SELECT " STATUS " AS status, COUNT(*) FROM runs r" BETWEEN " AND CAST($6 AS BIGINT) >= 0"     \
    lane IF_VALUES " GROUP BY " STATUS }
static const struct db_query values = VALUES(" AND CAST($7 AS BIGINT) = 0");
static const struct db_query values_of_agent = VALUES(OF_AGENT);
static const struct db_query values_of_workflow = VALUES(OF_WORKFLOW);
static const struct db_query statuses = STATUSES(" AND CAST($7 AS BIGINT) = 0");
static const struct db_query statuses_of_agent = STATUSES(OF_AGENT);
static const struct db_query statuses_of_workflow = STATUSES(OF_WORKFLOW);

#define SORTED_PAGE(lane)                                                                          \
    .sqlite = PAGE lane IF_MORE SORTED(""),                                              \
    .postgres = PAGE lane IF_MORE SORTED(" COLLATE \"C\"")
static const struct db_query sorted_page = { SORTED_PAGE(" AND CAST($7 AS BIGINT) = 0") };
static const struct db_query sorted_agent_page = { SORTED_PAGE(OF_AGENT) };
static const struct db_query sorted_workflow_page = { SORTED_PAGE(OF_WORKFLOW) };

/* $2 has the numbers (db_id_list()): one run is looked up after the other, whatever is known about the
 * tables. */
static const struct db_query runs_by_no = {
    .sqlite = RUNS_BY("json_each($2) j CROSS JOIN runs r ON r.run_no = j.value")
              " WHERE r.tenant_id = $1 ORDER BY j.key",
    .postgres = "SELECT v.* FROM unnest($2::bigint[]) WITH ORDINALITY AS x(no, place)"
                " CROSS JOIN LATERAL (" RUNS_BY("runs r")
                " WHERE r.tenant_id = $1 AND r.run_no = x.no OFFSET 0) v ORDER BY x.place",
};

/* The last run that a page may examine. */
const struct db_query run_list_floor = {
    .sql = FLOOR NEWEST_FIRST " LIMIT 1 OFFSET $6",
};
const struct db_query run_list_agent_floor = {
    .sql = FLOOR OF_AGENT NEWEST_FIRST " LIMIT 1 OFFSET $6",
};
const struct db_query run_list_workflow_floor = {
    .sql = FLOOR OF_WORKFLOW NEWEST_FIRST " LIMIT 1 OFFSET $6",
};
/* clang-format on */

/* The queries on one index. */
struct lane {
    const struct db_query *page, *filtered, *sorted, *floor, *matching, *values, *statuses;
};

static const struct lane all_runs = { &run_list_page, &filtered_page, &sorted_page, &run_list_floor,
                                      &matching,      &values,        &statuses };
static const struct lane of_agent = { &run_list_agent_page, &filtered_agent_page,
                                      &sorted_agent_page,   &run_list_agent_floor,
                                      &matching_of_agent,   &values_of_agent,
                                      &statuses_of_agent };
static const struct lane of_workflow = { &run_list_workflow_page, &filtered_workflow_page,
                                         &sorted_workflow_page,   &run_list_workflow_floor,
                                         &matching_of_workflow,   &values_of_workflow,
                                         &statuses_of_workflow };

/* The range of the page: below `from`, and not below `to`. */
struct span {
    struct run_cursor from, to;
    bool cut;     /* there are runs below `to` */
    int64_t part; /* runs per statement */
    int64_t skip; /* of a sorted list */
    struct arena *arena;
    const struct db_query *query;
    db_row_fn *on_row;
    void *ctx;
};

static struct span span_of(const struct run_filter *f, struct arena *arena)
{
    const struct run_cursor until = { f->until, RUN_ID_FIRST }, since = { f->since, RUN_ID_FIRST };

    return (struct span){ .from = f->after.start_at < f->until ? f->after : until,
                          .to = since,
                          .arena = arena };
}

static const struct lane *lane_of(const struct run_filter *f)
{
    if (!str_is_null(f->workflow_run_id))
        return &of_workflow;
    return f->agent_id != 0 ? &of_agent : &all_runs;
}

/* $7: the agent or workflow that all runs of the lane have in common. */
static struct db_value lane_value(const struct run_filter *f)
{
    return str_is_null(f->workflow_run_id) ? db_int(f->agent_id) : db_text(f->workflow_run_id);
}

static bool is_sorted(const struct run_filter *f)
{
    return f->order != ORDER_STARTED || f->ascending;
}

/* Does every run of the lane match the filter, in the lane's own order? */
static bool fits_all(const struct run_filter *f)
{
    return f->status < 0 && (f->agent_id == 0 || str_is_null(f->workflow_run_id)) &&
           str_is_null(f->version) && str_is_null(f->error_type) && str_is_null(f->part) &&
           !is_sorted(f);
}

struct str run_list_pattern(struct str part, struct arena *arena)
{
    char *at, *text;

    if (str_is_null(part))
        return STR_NULL;
    at = text = arena_alloc(arena, 2 * part.len + 2);
    *at++ = '%';
    for (size_t i = 0; i < part.len; i++) {
        if (part.data[i] == '%' || part.data[i] == '_' || part.data[i] == '!')
            *at++ = '!';
        *at++ = part.data[i];
    }
    *at++ = '%';
    return str_from(text, (size_t)(at - text));
}

static bool read_floor(void *ctx, const struct db_row *row)
{
    struct span *span = ctx;

    span->to = (struct run_cursor){ db_get_int(row, 0), rows_text(span->arena, row, 1) };
    span->cut = true;
    return false;
}

/* Shortens the span to the newest `n` runs of the lane. */
static int cut(struct db *db, const struct run_filter *f, int64_t n, struct span *span,
               struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(f->tenant_id), db_int(span->from.start_at), db_text(span->from.run_id),
                db_int(span->to.start_at), db_text(span->to.run_id), db_int(n - 1), lane_value(f));

    return db_exec(db, lane_of(f)->floor, args, read_floor, span, err);
}

int run_list_cut(struct db *db, struct run_filter *filter, bool *ret_cut, struct error *err)
{
    ARENA_SCOPED(arena);
    struct span newest = span_of(filter, &arena), beyond = newest;

    if (cut(db, filter, filter->limit + 1, &beyond, err) != 0)
        return -1;
    *ret_cut = beyond.cut;
    if (!beyond.cut)
        return 0;
    if (cut(db, filter, 1, &newest, err) != 0)
        return -1;
    filter->since =
        beyond.to.start_at == newest.to.start_at ? beyond.to.start_at : beyond.to.start_at + 1;
    return 0;
}

int runs_cut(struct db *db, struct runs_span *span, bool *ret_cut, struct error *err)
{
    struct run_filter filter = { .tenant_id = span->tenant_id,
                                 .after = RUN_CURSOR_TOP,
                                 .since = span->since,
                                 .until = span->until,
                                 .agent_id = span->agent_id,
                                 .limit = span->limit };

    if (run_list_cut(db, &filter, ret_cut, err) != 0)
        return -1;
    span->since = filter.since;
    return 0;
}

/* Bytes of a run's JSON, about: names, numbers and times are RUN_BYTES. */
static size_t size_of(const struct run_row *run)
{
    enum { RUN_BYTES = 450 };
    const struct run_state *s = &run->state;
    const struct str texts[] = { run->agent_name, s->agent_version, s->workflow_run_id,
                                 s->error_type,   s->error_message, s->closing_message,
                                 s->step_message };
    size_t n = RUN_BYTES;

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        n += buf_json_len(texts[i]);
    return n;
}

struct page_reader {
    struct rows rows;
    size_t bytes, bytes_max;
    bool full; /* the next run would exceed bytes_max */
};

static bool add_run(void *ctx, const struct db_row *row)
{
    struct page_reader *r = ctx;
    struct rows *rows = &r->rows;
    struct run_found *found = rows_add(rows);

    found->run_no = db_get_int(row, 0);
    found->run_id = rows_text(rows->arena, row, 1);
    found->run.agent_name = rows_text(rows->arena, row, 2);
    run_row_read(row, 3, rows->arena, &found->run.state);
    found->bytes = size_of(&found->run);
    r->bytes += found->bytes;
    r->full = rows->n > 1 && r->bytes > r->bytes_max;
    if (r->full)
        rows->n--;
    return !r->full;
}

static struct run_cursor cursor_of(const struct run_found *run)
{
    return (struct run_cursor){ run_state_start(&run->run.state), run->run_id };
}

/* One run more than the limit is read, to see whether there are more. */
static void end_page(struct page_reader *r, const struct span *span, int64_t limit,
                     struct run_page *ret)
{
    const struct run_found *runs = r->rows.items;

    *ret = (struct run_page){ .more = span->cut, .end = span->to };
    if (r->rows.n > (size_t)limit) {
        r->rows.n--;
        r->full = true;
    }
    if (r->full) {
        ret->more = true;
        ret->end = cursor_of(&runs[r->rows.n - 1]);
    }
    ret->cut = span->cut;
    ret->floor = span->to.start_at;
    ret->runs = (struct list){ r->rows.items, r->rows.n };
}

/* The closing event of runs with this status; -1 for runs without one. */
static struct db_value status_value(int status)
{
    static const int closing_events[] = {
        [RUN_IN_PROGRESS] = -1, [RUN_COMPLETED] = EVENT_COMPLETED, [RUN_FAILED] = EVENT_FAILED
    };

    return status < 0 ? db_null() : db_int(closing_events[status]);
}

static int find(struct db *db, const struct run_filter *f, const struct span *span,
                struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(f->tenant_id), db_int(span->from.start_at), db_text(span->from.run_id),
                db_int(span->to.start_at), db_text(span->to.run_id), db_int(span->part),
                lane_value(f), status_value(f->status), db_int(f->agent_id), db_text(f->version),
                db_text(f->error_type), db_text(run_list_pattern(f->part, span->arena)),
                db_int(f->order), db_int(f->ascending), db_int(span->skip));

    return db_exec(db, span->query, args, span->on_row, span->ctx, err);
}

static const struct db_query *query_of(const struct run_filter *f)
{
    const struct lane *lane = lane_of(f);

    if (fits_all(f))
        return lane->page;
    return is_sorted(f) ? lane->sorted : lane->filtered;
}

/* In parts: PostgreSQL sends all rows of a statement, also those after the end of the page. */
static int find_in_parts(struct db *db, const struct run_filter *f, struct span span,
                         struct page_reader *r, struct error *err)
{
    enum { PART = 128, SORTED_PART = 512 }; /* each part of a sorted list sorts all of it again */
    const int64_t most = is_sorted(f) ? SORTED_PART : PART;
    int64_t left = f->limit + 1;
    size_t before;

    span.query = query_of(f);
    span.on_row = add_run;
    span.ctx = r;
    do {
        span.part = left < most ? left : most;
        before = r->rows.n;
        if (find(db, f, &span, err) != 0)
            return -1;
        span.skip = (int64_t)r->rows.n;
        if (r->rows.n > 0 && !is_sorted(f))
            span.from = cursor_of(&((const struct run_found *)r->rows.items)[r->rows.n - 1]);
        left -= span.part;
    } while (left > 0 && !r->full && r->rows.n - before == (size_t)span.part);
    return 0;
}

int run_list_find(struct db *db, const struct run_filter *filter, struct arena *arena,
                  struct run_page *ret, struct error *err)
{
    struct page_reader reader = { .rows = { .arena = arena, .size = sizeof(struct run_found) },
                                  .bytes_max = filter->bytes };
    struct span span = span_of(filter, arena);

    if (!fits_all(filter) && cut(db, filter, filter->scan_max, &span, err) != 0)
        return -1;
    if (find_in_parts(db, filter, span, &reader, err) != 0)
        return -1;
    end_page(&reader, &span, filter->limit, ret);
    return 0;
}

int run_list_scan(struct db *db, const struct run_filter *filter, enum run_scan what,
                  db_row_fn *on_row, void *ctx, struct error *err)
{
    const struct lane *lane = lane_of(filter);
    ARENA_SCOPED(arena);
    struct span span = span_of(filter, &arena);

    span.part = filter->limit;
    span.query = what == RUNS_VALUES ? lane->values : lane->statuses;
    span.on_row = on_row;
    span.ctx = ctx;
    return find(db, filter, &span, err);
}

static bool add_candidate(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;
    struct run_candidate *run = rows_add(rows);

    run->run_no = db_get_int(row, 0);
    run->run_id = rows_text(rows->arena, row, 1);
    run->start_at = db_get_int(row, 2);
    return true;
}

int run_list_candidates(struct db *db, const struct run_filter *filter, struct arena *arena,
                        struct run_candidates *ret, struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct run_candidate) };
    struct span span = span_of(filter, arena);

    span.part = filter->scan_max;
    span.query = lane_of(filter)->matching;
    span.on_row = add_candidate;
    span.ctx = &rows;
    if (cut(db, filter, filter->scan_max, &span, err) != 0 || find(db, filter, &span, err) != 0)
        return -1;
    *ret = (struct run_candidates){ .tenant_id = filter->tenant_id,
                                    .bytes = filter->bytes,
                                    .runs = rows.items,
                                    .n = rows.n,
                                    .cut = span.cut,
                                    .floor = span.to.start_at };
    return 0;
}

/* Copies the usage and cost of the candidates to the runs that were read; both are in the same
 * order. */
static void add_spent(const struct run_candidate *from, const struct rows *rows)
{
    struct run_found *found = rows->items;

    for (size_t i = 0; i < rows->n; from++)
        if (from->run_no == found[i].run_no)
            found[i++].spent = from->spent;
}

int run_list_load(struct db *db, const struct run_candidates *from, int64_t limit,
                  struct arena *arena, struct run_page *ret, struct error *err)
{
    enum { PART = 512 }; /* PostgreSQL sends all rows, also those after the end of the page */
    const size_t n = from->n < (size_t)limit ? from->n : (size_t)limit;
    struct page_reader reader = { .rows = { .arena = arena, .size = sizeof(struct run_found) },
                                  .bytes_max = from->bytes };
    int64_t run_nos[PART];

    for (size_t at = 0; at < n && !reader.full; at += PART) {
        const size_t part = n - at < PART ? n - at : PART;

        for (size_t i = 0; i < part; i++)
            run_nos[i] = from->runs[at + i].run_no;
        if (db_exec(db, &runs_by_no,
                    DB_ARGS(db_int(from->tenant_id), db_id_list(db, run_nos, part, arena)), add_run,
                    &reader, err) != 0)
            return -1;
    }
    add_spent(from->runs, &reader.rows);
    *ret = (struct run_page){ .runs = { reader.rows.items, reader.rows.n },
                              .cut = from->cut,
                              .floor = from->floor };
    return 0;
}

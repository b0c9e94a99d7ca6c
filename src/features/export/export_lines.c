/* export_lines.c - writes the rows of an export as lines, in steps. */
#include "features/export/export_lines.h"

#include "db/db.h"
#include "features/access/registry.h"
#include "features/events/event_log.h"
#include "features/events/event_rows.h"
#include "features/events/runs.h"
#include "features/events/shapes.h"
#include "features/export/shapes.h"
#include "features/export/store.h"
#include "shape/csv.h"
#include "shape/json.h"
#include "shape/json_write.h"

enum {
    PART_BYTES = 256 << 10, /* with this much output the step ends; at most so much per write */
    RUN_PART_BYTES =
        4 << 20,          /* the same for a single run: PostgreSQL sorts its events in each step */
    LINES_MAX = 64 << 20, /* a step's output and its last line, which the request bounds */
    CELL_LEAST = 256,     /* bytes of a line, besides the names of its dimensions */
    STEP_LEAST = 16,      /* rows per step */
    STEP_FIRST = 512,
    STEP_MOST = 65536,
    USAGE_PAGE = 1000,
    OVERDUE_MAX = 20, /* steps in a row that take too long, each half of the one before */
};

/* A breakdown whose cells are too many for one part: kept beyond its statement. */
struct long_breakdown {
    struct arena arena; /* of the strings of `line` */
    struct business_line line;
    yyjson_doc *names, *cells; /* NULL: no breakdown is being written */
};

struct export_run {
    struct export_job *job;
    const struct export_source *source;
    struct db *db;
    const struct shape *shape; /* of a line */
    struct buf out;
    size_t part_bytes;
    int64_t last;                /* number of the last row that was stored as it began */
    int64_t at;                  /* number of the last row added */
    size_t n;                    /* rows of this step */
    unsigned overdue;            /* steps in a row that took too long and have no line */
    bool full;                   /* the step has enough output */
    bool closed;                 /* job->write() returned false */
    bool cut;                    /* a line did not fit into `out` */
    struct business_place place; /* of the last row added, in `names` */
    struct llm_page page;
    struct buf names[2]; /* of `place` or of page.after */
    struct long_breakdown rest;
};

static void add_line(struct export_run *run, const void *line)
{
    if (run->job->format == EXPORT_CSV) {
        csv_write_row(run->shape, line, &run->out);
    } else {
        shape_write_json(run->shape, line, &run->out);
        buf_add_char(&run->out, '\n');
    }
    run->full = run->out.len >= run->part_bytes;
    run->cut = run->cut || run->out.overflown; /* before `out` is handed over and cleared */
}

/* Hands over what has been written, in pieces: what waits for the client counts for all tenants. */
static void flush_part(struct export_run *run)
{
    struct str all = buf_str(&run->out);
    struct buf piece;

    if (all.len <= PART_BYTES) {
        if (all.len > 0 && !run->closed)
            run->closed = !run->job->write(run->job, &run->out);
        return;
    }
    buf_init(&piece, PART_BYTES);
    for (size_t at = 0; at < all.len && !run->closed; at += PART_BYTES) {
        size_t left = all.len - at;

        buf_add(&piece, str_from(all.data + at, left < PART_BYTES ? left : PART_BYTES));
        run->closed = !run->job->write(run->job, &piece);
    }
    buf_done(&piece);
    buf_done(&run->out); /* a long line is rare: its memory is not kept */
}

static bool is_unwanted(const struct export_run *run)
{
    return atomic_load(run->source->stopping) || atomic_load(&run->job->cancelled);
}

static void write_rest(struct export_run *run);

/* Between two steps, when no statement is open: waits for the client. False when the export must
 * end. */
static bool flush_and_continue(struct export_run *run)
{
    if (run->rest.cells != NULL)
        write_rest(run);
    flush_part(run);
    return !run->closed && !run->cut && !is_unwanted(run);
}

/* The strings live until the next call. */
static void keep_names(struct export_run *run, struct str *first, struct str *second)
{
    struct str *const names[] = { first, second };

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        buf_clear(&run->names[i]);
        if (str_is_null(*names[i]))
            continue;
        buf_add(&run->names[i], *names[i]);
        *names[i] = buf_str(&run->names[i]);
    }
}

static bool export_add_event(void *ctx, int64_t event_no, const struct stored_event *event)
{
    struct export_run *run = ctx;
    struct stored_event line = *event;

    line.event.client_id = run->job->tenant->slug;
    line.clock_skewed = run_event_is_skewed(event);
    add_line(run, &line);
    run->at = event_no;
    run->n++;
    return !run->full;
}

static int step_events(struct export_run *run, const struct store_step *step, struct error *err)
{
    return store_events_step(run->db, step, export_add_event, run, err);
}

static void keep_place(struct export_run *run, const struct business_place *place)
{
    run->at = place->run_no;
    run->place = *place;
    keep_names(run, &run->place.key, &run->place.dimensions);
}

static bool export_add_value(void *ctx, const struct business_place *place,
                             const struct business_line *line)
{
    struct export_run *run = ctx;

    add_line(run, line);
    keep_place(run, place);
    run->n++;
    return !run->full;
}

static int step_values(struct export_run *run, const struct store_step *step, struct error *err)
{
    const struct business_place after = run->place;
    const struct business_step business = { *step, &after };

    return store_business_values_step(run->db, &business, export_add_value, run, err);
}

/* {"name":value,…} for one cell. */
static void write_dimensions(yyjson_val *names, yyjson_val *cell, struct buf *out)
{
    size_t n = yyjson_arr_size(names);

    buf_clear(out);
    buf_add_char(out, '{');
    for (size_t i = 0; i < n; i++) {
        yyjson_val *value = yyjson_arr_get(cell, i);

        if (i > 0)
            buf_add_char(out, ',');
        buf_add_json(out, json_str(yyjson_arr_get(names, i)));
        buf_add_char(out, ':');
        if (yyjson_is_str(value))
            buf_add_json(out, json_str(value));
        else if (yyjson_is_int(value))
            buf_add_int(out, yyjson_get_sint(value));
        else
            json_add_real(out, yyjson_get_num(value));
    }
    buf_add_char(out, '}');
}

/* `flushes`: no statement is open, so what fills a part may wait for the client. */
static void add_cells(struct export_run *run, const struct business_line *of, yyjson_val *names,
                      yyjson_val *cells, bool flushes)
{
    struct business_line line = *of;
    char number[JSON_REAL_MAX];
    struct buf dimensions, value;
    yyjson_arr_iter rest;
    yyjson_val *cell;

    buf_init(&dimensions, LINES_MAX);
    buf_init(&value, sizeof(number));
    yyjson_arr_iter_init(cells, &rest);
    while ((cell = yyjson_arr_iter_next(&rest)) != NULL && !run->closed) {
        yyjson_val *last = yyjson_arr_get_last(cell);

        write_dimensions(names, cell, &dimensions);
        run->cut = run->cut || dimensions.overflown;
        buf_clear(&value);
        if (yyjson_is_int(last))
            buf_add_int(&value, yyjson_get_sint(last));
        else
            json_add_real(&value, yyjson_get_num(last));
        line.dimensions = buf_str(&dimensions);
        line.value = buf_str(&value);
        add_line(run, &line);
        if (flushes && run->full)
            flush_part(run);
        if (flushes && is_unwanted(run))
            break;
    }
    buf_done(&dimensions);
    buf_done(&value);
}

static void drop_rest(struct long_breakdown *rest)
{
    if (rest->cells == NULL)
        return;
    yyjson_doc_free(rest->names);
    yyjson_doc_free(rest->cells);
    rest->names = rest->cells = NULL;
    arena_done(&rest->arena);
}

static void write_rest(struct export_run *run)
{
    struct long_breakdown *rest = &run->rest;

    add_cells(run, &rest->line, yyjson_doc_get_root(rest->names), yyjson_doc_get_root(rest->cells),
              true);
    drop_rest(rest);
}

/* Takes over both documents. */
static void keep_rest(struct export_run *run, const struct business_line *line, yyjson_doc *names,
                      yyjson_doc *cells)
{
    struct long_breakdown *rest = &run->rest;
    struct arena *arena = &rest->arena;

    arena_init(arena);
    rest->names = names;
    rest->cells = cells;
    rest->line = *line;
    rest->line.agent_name = arena_copy(arena, line->agent_name);
    rest->line.agent_version = arena_copy(arena, line->agent_version);
    rest->line.run_id = arena_copy(arena, line->run_id);
    rest->line.key = arena_copy(arena, line->key);
    if (!str_is_null(line->workflow_run_id))
        rest->line.workflow_run_id = arena_copy(arena, line->workflow_run_id);
    run->full = true; /* the step ends here */
}

static bool export_add_breakdown(void *ctx, const struct stored_breakdown *breakdown)
{
    struct export_run *run = ctx;
    yyjson_doc *names, *cells;
    size_t n;

    names = json_read_stored(breakdown->dimensions);
    cells = json_read_stored(breakdown->cells);
    n = yyjson_arr_size(yyjson_doc_get_root(cells));
    keep_place(run, &breakdown->place);
    run->n++;
    if (names != NULL && cells != NULL &&
        n > PART_BYTES / (breakdown->dimensions.len + CELL_LEAST)) {
        keep_rest(run, breakdown->line, names, cells);
        return false;
    }
    if (names != NULL && cells != NULL)
        add_cells(run, breakdown->line, yyjson_doc_get_root(names), yyjson_doc_get_root(cells),
                  false);
    yyjson_doc_free(names);
    yyjson_doc_free(cells);
    return !run->full;
}

static int step_breakdowns(struct export_run *run, const struct store_step *step, struct error *err)
{
    const struct business_place after = run->place;
    const struct business_step business = { *step, &after };

    return store_breakdowns_step(run->db, &business, export_add_breakdown, run, err);
}

typedef int step_fn(struct export_run *run, const struct store_step *step, struct error *err);

static int64_t grown(int64_t n, bool full)
{
    if (full)
        return n / 2 < STEP_LEAST ? STEP_LEAST : n / 2;
    return n * 2 > STEP_MOST ? STEP_MOST : n * 2;
}

/* After a step that failed. On a busy machine this thread, which yields to requests, may need
 * longer for a step than a read may take: what was read by then is sent, and the next step is
 * shorter. False when the export cannot go on. */
static bool shorten(struct export_run *run, int64_t *limit, const struct error *err)
{
    run->overdue = run->n > 0 ? 0 : run->overdue + 1;
    if (err->code != ERR_BUSY || run->overdue > OVERDUE_MAX)
        return false;
    *limit = *limit > 1 ? *limit / 2 : 1;
    return true;
}

/* All rows up to run->last, by number. Steps grow while they yield little output. */
static int walk(struct export_run *run, enum store_numbers of, step_fn *read, struct error *err)
{
    struct store_step all = { .tenant_id = run->job->tenant->id,
                              .until = run->last,
                              .range = run->job->range };
    int64_t n = STEP_FIRST;

    run->place = (struct business_place){ 0 };
    while (all.after < all.until || !str_is_null(run->place.key)) {
        struct store_step step = all;
        bool whole;

        run->n = 0;
        run->full = false;
        whole = store_numbers_step(run->db, of, &all, n, &step.until, err) == 0 &&
                read(run, &step, err) == 0;
        if (!whole && !shorten(run, &n, err))
            return -1;
        if (whole && !run->full) {
            all.after = step.until;
            run->place = (struct business_place){ 0 };
        } else if (run->n > 0) {
            all.after = run->at;
        }
        if (whole) {
            n = grown(n, run->full);
            run->overdue = 0;
        }
        if (!flush_and_continue(run))
            return 0;
    }
    return 0;
}

/* A page of rows that were all left out has moved no cursor: the next one is larger. */
static int widen(int64_t *limit, struct error *err)
{
    if (*limit > STEP_MOST)
        return err_set(err, ERR_DAMAGED, "more than %d rows in a row are damaged", STEP_MOST);
    *limit *= 2;
    return 0;
}

/* The events of one run, in order of arrival. */
static int walk_run(struct export_run *run, struct error *err)
{
    const struct export_job *job = run->job;
    struct event_log *log = run->source->events;
    struct store_run_step step = { .tenant_id = job->tenant->id,
                                   .range = job->range,
                                   .limit = STEP_FIRST };
    int64_t skipped;
    bool more;

    if (log->methods->find_run(log, run->db, step.tenant_id, job->run_id, &step.run_no, err) != 0)
        return -1;
    if (step.run_no == 0)
        return err_set(err, ERR_NOT_FOUND, "There is no run '%.*s' in tenant '%.*s'",
                       STR_ARG(job->run_id), STR_ARG(job->tenant->slug));
    run->part_bytes = RUN_PART_BYTES;
    do {
        run->n = 0;
        run->full = false;
        step.after = run->at;
        skipped = db_skipped(run->db);
        more = true;
        if (store_run_events_step(run->db, &step, export_add_event, run, err) != 0) {
            if (!shorten(run, &step.limit, err))
                return -1;
            continue;
        }
        run->overdue = 0;
        skipped = db_skipped(run->db) - skipped;
        more = run->full || (int64_t)run->n + skipped == step.limit;
        if (run->n > 0)
            step.limit = grown(step.limit, run->full);
        else if (more && widen(&step.limit, err) != 0)
            return -1;
    } while (flush_and_continue(run) && more);
    return 0;
}

static bool export_add_usage(void *ctx, const struct llm_cursor *place, const struct llm_line *line)
{
    struct export_run *run = ctx;

    add_line(run, line);
    run->page.after = *place;
    keep_names(run, &run->page.after.run_id, &run->page.after.model);
    run->n++;
    return true;
}

static int walk_usage(struct export_run *run, struct error *err)
{
    const struct time_range range = run->job->range;
    int64_t skipped;
    bool more;

    run->page = (struct llm_page){ .tenant_id = run->job->tenant->id,
                                   .range = range,
                                   .after = { range.since, 0, STR_LIT(""), STR_LIT("") },
                                   .limit = USAGE_PAGE };
    do {
        run->n = 0;
        skipped = db_skipped(run->db);
        more = true;
        if (store_llm_page(run->db, &run->page, export_add_usage, run, err) != 0) {
            if (!shorten(run, &run->page.limit, err))
                return -1;
            continue;
        }
        run->overdue = 0;
        skipped = db_skipped(run->db) - skipped;
        more = (int64_t)run->n + skipped == run->page.limit;
        if (run->n > 0)
            run->page.limit = USAGE_PAGE;
        else if (more && widen(&run->page.limit, err) != 0)
            return -1;
    } while (flush_and_continue(run) && more);
    return 0;
}

/* Before the first line, when a failure still has its status. */
static int find_last(struct export_run *run, enum store_numbers of, struct error *err)
{
    return store_numbers_last(run->db, of, run->job->tenant->id, &run->last, err);
}

static int walk_all(struct export_run *run, struct error *err)
{
    switch (run->job->kind) {
    case EXPORT_EVENTS:
        if (!str_is_null(run->job->run_id))
            return walk_run(run, err);
        if (find_last(run, NUMBERS_OF_EVENTS, err) != 0)
            return -1;
        return walk(run, NUMBERS_OF_EVENTS, step_events, err);
    case EXPORT_BUSINESS:
        if (find_last(run, NUMBERS_OF_BUSINESS, err) != 0 ||
            walk(run, NUMBERS_OF_BUSINESS, step_values, err) != 0)
            return -1;
        return walk(run, NUMBERS_OF_BUSINESS, step_breakdowns, err);
    case EXPORT_LLM:
        break;
    }
    return walk_usage(run, err);
}

int export_lines(struct export_job *job, const struct export_source *source, struct db *db,
                 struct error *err)
{
    static const struct shape *const shapes[] = { [EXPORT_EVENTS] = &stored_event_shape,
                                                  [EXPORT_BUSINESS] = &business_line_shape,
                                                  [EXPORT_LLM] = &llm_line_shape };
    struct export_run run = {
        .job = job, .source = source, .db = db, .shape = shapes[job->kind], .part_bytes = PART_BYTES
    };
    int r;

    buf_init(&run.out, LINES_MAX);
    for (size_t i = 0; i < COUNT_OF(run.names); i++)
        buf_init(&run.names[i], KIB(64));
    if (job->format == EXPORT_CSV)
        csv_write_head(run.shape, &run.out);
    r = walk_all(&run, err);
    drop_rest(&run.rest);
    if (r == 0 && run.cut)
        r = err_set(err, ERR_INTERNAL, "a line of the export is too long");
    if (r == 0)
        flush_part(&run);
    if (r == 0 && is_unwanted(&run))
        r = err_set(err, ERR_BUSY, "the export was ended before it was complete");
    buf_done(&run.out);
    for (size_t i = 0; i < COUNT_OF(run.names); i++)
        buf_done(&run.names[i]);
    return r;
}

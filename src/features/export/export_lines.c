/* export_lines.c - writes the rows of an export as lines, in steps. */
#include "features/export/export_lines.h"

#include "db/db.h"
#include "features/access/registry.h"
#include "features/events/event_rows.h"
#include "features/events/runs.h"
#include "features/events/shapes.h"
#include "features/export/shapes.h"
#include "features/export/store.h"
#include "shape/csv.h"
#include "shape/json.h"
#include "shape/json_write.h"

enum {
    PART_BYTES = 256 << 10, /* with this much output the step ends */
    PART_LIMIT = 8 << 20,   /* with this much it is flushed within the step */
    STEP_LEAST = 16,        /* rows per step */
    STEP_FIRST = 512,
    STEP_MOST = 65536,
    USAGE_PAGE = 1000,
};

struct export_run {
    struct export_job *job;
    struct db *db;
    const atomic_bool *stopping;
    const struct shape *shape; /* of a line */
    struct buf out;
    int64_t at;     /* number of the last row added */
    bool full;      /* the step has enough output */
    bool cancelled; /* by job->write() */
    struct llm_page page;
    struct buf run_id, model; /* of page.after */
    size_t n;                 /* rows of this page */
};

static void flush_part(struct export_run *run)
{
    if (run->out.len > 0 && !run->cancelled)
        run->cancelled = !run->job->write(run->job, &run->out);
}

static void add_line(struct export_run *run, const void *line)
{
    if (run->job->format == EXPORT_CSV) {
        csv_write_row(run->shape, line, &run->out);
    } else {
        shape_write_json(run->shape, line, &run->out);
        buf_add_char(&run->out, '\n');
    }
    run->full = run->out.len >= PART_BYTES;
    if (run->out.len >= PART_LIMIT)
        flush_part(run);
}

/* Flushes the output; false when the export must end. */
static bool flush_and_continue(struct export_run *run)
{
    flush_part(run);
    return !run->cancelled && !atomic_load(run->stopping);
}

static bool export_add_event(void *ctx, int64_t event_no, const struct stored_event *event)
{
    struct export_run *run = ctx;
    struct stored_event line = *event;

    line.event.client_id = run->job->tenant->slug;
    line.clock_skewed = run_event_is_skewed(event);
    add_line(run, &line);
    run->at = event_no;
    return !run->full;
}

static int step_events(struct export_run *run, const struct store_step *step, struct error *err)
{
    return store_events_step(run->db, step, export_add_event, run, err);
}

/* A step ends only between two runs. */
static bool ends_before(const struct export_run *run, int64_t run_no)
{
    return run->cancelled || (run->full && run_no != run->at);
}

static bool export_add_value(void *ctx, int64_t run_no, const struct business_line *line)
{
    struct export_run *run = ctx;

    if (ends_before(run, run_no))
        return false;
    add_line(run, line);
    run->at = run_no;
    return true;
}

static int step_values(struct export_run *run, const struct store_step *step, struct error *err)
{
    return store_business_values_step(run->db, step, export_add_value, run, err);
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

static void add_cells(struct export_run *run, const struct stored_breakdown *breakdown,
                      yyjson_val *names, yyjson_val *cells)
{
    struct business_line line = *breakdown->line;
    char number[JSON_REAL_MAX];
    struct buf dimensions, value;
    yyjson_arr_iter rest;
    yyjson_val *cell;

    buf_init(&dimensions, MIB(64));
    buf_init(&value, sizeof(number));
    yyjson_arr_iter_init(cells, &rest);
    while ((cell = yyjson_arr_iter_next(&rest)) != NULL && !run->cancelled) {
        yyjson_val *last = yyjson_arr_get_last(cell);

        write_dimensions(names, cell, &dimensions);
        buf_clear(&value);
        if (yyjson_is_int(last))
            buf_add_int(&value, yyjson_get_sint(last));
        else
            json_add_real(&value, yyjson_get_num(last));
        line.dimensions = buf_str(&dimensions);
        line.value = buf_str(&value);
        add_line(run, &line);
    }
    buf_done(&dimensions);
    buf_done(&value);
}

static bool export_add_breakdown(void *ctx, const struct stored_breakdown *breakdown)
{
    struct export_run *run = ctx;
    yyjson_doc *names, *cells;

    if (ends_before(run, breakdown->run_no))
        return false;
    names = yyjson_read(breakdown->dimensions.data, breakdown->dimensions.len, 0);
    cells = yyjson_read(breakdown->cells.data, breakdown->cells.len, 0);
    if (names != NULL && cells != NULL)
        add_cells(run, breakdown, yyjson_doc_get_root(names), yyjson_doc_get_root(cells));
    yyjson_doc_free(names);
    yyjson_doc_free(cells);
    run->at = breakdown->run_no;
    return true;
}

static int step_breakdowns(struct export_run *run, const struct store_step *step, struct error *err)
{
    return store_breakdowns_step(run->db, step, export_add_breakdown, run, err);
}

typedef int step_fn(struct export_run *run, const struct store_step *step, struct error *err);

/* All rows stored by now, by number. Steps grow while they yield little output. */
static int walk(struct export_run *run, enum store_numbers of, step_fn *read, struct error *err)
{
    struct store_step all = { .tenant_id = run->job->tenant->id, .range = run->job->range };
    int64_t n = STEP_FIRST;

    if (store_numbers_last(run->db, of, all.tenant_id, &all.until, err) != 0)
        return -1;
    while (all.after < all.until) {
        struct store_step step = all;

        run->full = false;
        if (store_numbers_step(run->db, of, &all, n, &step.until, err) != 0 ||
            read(run, &step, err) != 0)
            return -1;
        all.after = run->full ? run->at : step.until;
        if (run->full)
            n = n / 2 < STEP_LEAST ? STEP_LEAST : n / 2;
        else
            n = n * 2 > STEP_MOST ? STEP_MOST : n * 2;
        if (!flush_and_continue(run))
            return 0;
    }
    return 0;
}

static bool export_add_usage(void *ctx, const struct llm_cursor *place, const struct llm_line *line)
{
    struct export_run *run = ctx;

    add_line(run, line);
    buf_clear(&run->run_id);
    buf_clear(&run->model);
    buf_add(&run->run_id, place->run_id);
    buf_add(&run->model, place->model);
    run->page.after = (struct llm_cursor){ place->timestamp, place->agent_id, buf_str(&run->run_id),
                                           buf_str(&run->model) };
    run->n++;
    return true;
}

static int walk_usage(struct export_run *run, struct error *err)
{
    const struct time_range range = run->job->range;

    run->page = (struct llm_page){ .tenant_id = run->job->tenant->id,
                                   .range = range,
                                   .after = { range.since, 0, STR_LIT(""), STR_LIT("") },
                                   .limit = USAGE_PAGE };
    do {
        run->n = 0;
        if (store_llm_page(run->db, &run->page, export_add_usage, run, err) != 0)
            return -1;
    } while (flush_and_continue(run) && run->n == USAGE_PAGE);
    return 0;
}

static int walk_all(struct export_run *run, struct error *err)
{
    switch (run->job->kind) {
    case EXPORT_EVENTS:
        return walk(run, NUMBERS_OF_EVENTS, step_events, err);
    case EXPORT_BUSINESS:
        if (walk(run, NUMBERS_OF_BUSINESS, step_values, err) != 0)
            return -1;
        return walk(run, NUMBERS_OF_BUSINESS, step_breakdowns, err);
    case EXPORT_LLM:
        break;
    }
    return walk_usage(run, err);
}

int export_lines(struct export_job *job, struct db *db, const atomic_bool *stopping,
                 struct error *err)
{
    static const struct shape *const shapes[] = { [EXPORT_EVENTS] = &stored_event_shape,
                                                  [EXPORT_BUSINESS] = &business_line_shape,
                                                  [EXPORT_LLM] = &llm_line_shape };
    struct export_run run = {
        .job = job, .db = db, .stopping = stopping, .shape = shapes[job->kind]
    };
    int r;

    buf_init(&run.out, MIB(128));
    buf_init(&run.run_id, KIB(64));
    buf_init(&run.model, KIB(64));
    if (job->format == EXPORT_CSV)
        csv_write_head(run.shape, &run.out);
    r = walk_all(&run, err);
    if (r == 0)
        flush_part(&run);
    if (r == 0 && !run.cancelled && atomic_load(stopping))
        r = err_set(err, ERR_BUSY, "the service is stopping");
    buf_done(&run.out);
    buf_done(&run.run_id);
    buf_done(&run.model);
    return r;
}

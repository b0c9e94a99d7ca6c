/* export_rows.c - rows of an export as lines. */
#include "db/db.h"
#include "features/access/registry.h"
#include "features/cost/cost.h"
#include "features/cost/llm_totals.h"
#include "features/cost/prices.h"
#include "features/events/runs.h"
#include "features/events/shapes.h"
#include "features/export/export_run.h"
#include "features/export/shapes.h"
#include "shape/json.h"
#include "shape/write.h"

enum { CELL_LEAST = 256 }; /* bytes of a line, besides the names of its dimensions */

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

void export_flush(struct export_run *run)
{
    struct str all = buf_str(&run->out);
    struct buf piece;

    if (all.len <= EXPORT_PART) {
        if (all.len > 0 && !run->closed)
            run->closed = !run->job->write(run->job, &run->out);
        return;
    }
    buf_init(&piece, EXPORT_PART);
    for (size_t at = 0; at < all.len && !run->closed; at += EXPORT_PART) {
        size_t left = all.len - at;

        buf_add(&piece, str_from(all.data + at, left < EXPORT_PART ? left : EXPORT_PART));
        run->closed = !run->job->write(run->job, &piece);
    }
    buf_done(&piece);
    buf_done(&run->out); /* a long line is rare: its memory is not kept */
}

bool export_is_unwanted(const struct export_run *run)
{
    return atomic_load(run->source->stopping) || atomic_load(&run->job->cancelled);
}

bool export_may_continue(const struct export_run *run)
{
    return !run->closed && !run->cut && !export_is_unwanted(run);
}

static void write_rest(struct export_run *run);

bool export_flush_and_continue(struct export_run *run)
{
    if (run->rest.cells != NULL)
        write_rest(run);
    export_flush(run);
    return export_may_continue(run);
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

bool export_add_event(void *ctx, int64_t event_no, const struct stored_event *event)
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

int export_step_events(struct export_run *run, const struct store_step *step, struct error *err)
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

int export_step_values(struct export_run *run, const struct store_step *step, struct error *err)
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
    struct buf dimensions, value;
    yyjson_arr_iter rest;
    yyjson_val *cell;

    buf_init(&dimensions, EXPORT_LINES_MAX);
    buf_init(&value, KIB(1));
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
            export_flush(run);
        if (flushes && export_is_unwanted(run))
            break;
    }
    buf_done(&dimensions);
    buf_done(&value);
}

void export_drop_rest(struct long_breakdown *rest)
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
    export_drop_rest(rest);
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
        n > EXPORT_PART / (breakdown->dimensions.len + CELL_LEAST)) {
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

int export_step_breakdowns(struct export_run *run, const struct store_step *step, struct error *err)
{
    const struct business_place after = run->place;
    const struct business_step business = { *step, &after };

    return store_breakdowns_step(run->db, &business, export_add_breakdown, run, err);
}

bool export_add_usage(void *ctx, const struct llm_cursor *place, const struct llm_line *line)
{
    struct export_run *run = ctx;
    struct llm_line priced = *line;
    const struct llm_counts counts = {
        line->input_tokens,       line->output_tokens, line->cache_read_tokens,
        line->cache_write_tokens, line->calls,         line->fresh
    };
    char cost[MONEY_TEXT_MAX];
    const struct price_row *price =
        cost_of_report(run->book, line->model, line->timestamp, &counts, cost, &priced.cost_usd);

    priced.price = price == NULL ? STR_LIT("no price") : price->model;
    if (price != NULL)
        priced.price_id = (struct opt_int){ true, price->price_id };
    add_line(run, &priced);
    run->page.after = *place;
    keep_names(run, &run->page.after.run_id, &run->page.after.model);
    run->n++;
    return true;
}

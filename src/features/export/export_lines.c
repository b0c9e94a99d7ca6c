/* export_lines.c - finds the rows of an export, in steps. */
#include "features/export/export_run.h"

#include "db/db.h"
#include "db/row_sum.h"
#include "features/access/registry.h"
#include "features/cost/prices.h"
#include "features/events/event_days.h"
#include "features/events/event_log.h"
#include "features/events/event_rows.h"
#include "features/events/runs.h"
#include "features/events/shapes.h"
#include "shape/shape.h"

enum {
    RUN_PART_BYTES = 4 << 20, /* of a single run: PostgreSQL sorts its events in each step */
    STEP_LEAST = 16,          /* rows per step */
    STEP_FIRST = 512,
    STEP_MOST = 65536,
    OVERDUE_MAX = 20, /* steps in a row that take too long, each half of the one before */
};

/* What is read of which numbers. */
struct walk {
    enum export_numbers of;
    int (*read)(struct export_run *run, const struct event_step *step, struct error *err);
    struct number_range numbers;
};

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

/* All rows of these numbers, in order. Steps grow while they yield little output. */
static int walk(struct export_run *run, const struct walk *w, struct error *err)
{
    struct event_step all = { .tenant_id = run->job->tenant->id,
                              .after = w->numbers.after,
                              .until = w->numbers.until,
                              .range = run->job->range };
    int64_t n = STEP_FIRST;

    run->place = (struct business_place){ 0 };
    while (all.after < all.until || !str_is_null(run->place.key)) {
        struct event_step step = all;
        bool whole;

        run->n = 0;
        run->full = false;
        whole = export_step_end(run, w->of, &all, n, &step.until, err) == 0 &&
                w->read(run, &step, err) == 0;
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
        if (!export_flush_and_continue(run))
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

/* Calls `read` page by page until a page is not full. */
static int walk_pages(struct export_run *run,
                      int (*read)(struct export_run *run, int64_t limit, struct error *err),
                      struct error *err)
{
    int64_t limit = STEP_FIRST, skipped;
    bool more;

    do {
        run->n = 0;
        run->full = false;
        skipped = db_skipped(run->db);
        more = true;
        if (read(run, limit, err) != 0) {
            if (!shorten(run, &limit, err))
                return -1;
            continue;
        }
        run->overdue = 0;
        skipped = db_skipped(run->db) - skipped;
        more = run->full || (int64_t)run->n + skipped == limit;
        if (run->n > 0)
            limit = grown(limit, run->full);
        else if (more && widen(&limit, err) != 0)
            return -1;
    } while (export_flush_and_continue(run) && more);
    return 0;
}

/* The events of one run, in order of arrival. */
static int walk_run(struct export_run *run, struct error *err)
{
    const struct export_job *job = run->job;
    struct event_log *log = run->source->events;

    if (log->methods->find_run(log, run->db, job->tenant->id, job->run_id, &run->run_no, err) != 0)
        return -1;
    if (run->run_no == 0)
        return run_not_found(job->tenant, job->run_id, err);
    run->part_bytes = RUN_PART_BYTES;
    return walk_pages(run, export_page_of_run, err);
}

static int walk_usage(struct export_run *run, struct error *err)
{
    run->after = (struct usage_place){ run->job->range.since, 0, STR_LIT(""), STR_LIT("") };
    return walk_pages(run, export_page_of_usage, err);
}

/* The days are asked for after the last number: they have all that was stored by then. */
static int walk_events(struct export_run *run, struct error *err)
{
    struct walk events = { .of = NUMBERS_OF_EVENTS, .read = export_step_events };
    struct days_question question = { run->job->tenant->id, run->job->range, 0 };
    struct number_ranges ranges;
    ARENA_SCOPED(arena);

    if (export_last_number(run, NUMBERS_OF_EVENTS, &question.last, err) != 0 ||
        event_days_ranges(run->db, &question, &arena, &ranges, err) != 0)
        return -1;
    for (size_t i = 0; i < ranges.n && export_may_continue(run); i++) {
        events.numbers = ranges.items[i];
        if (walk(run, &events, err) != 0)
            return -1;
    }
    return 0;
}

/* Where runs that have reported in the time range may begin. A search that takes too long finds
 * more than a reader may read at once: then from the beginning, in steps. */
static int find_first_business(struct export_run *run, struct number_range *ret, struct error *err)
{
    int64_t first = 1;

    ret->after = 0;
    if (run->job->range.since == TIME_NULL)
        return 0;
    if (export_first_business(run, &first, err) != 0)
        return err->code == ERR_BUSY ? 0 : -1;
    ret->after = first == 0 ? ret->until : first - 1;
    return 0;
}

static int walk_business(struct export_run *run, struct error *err)
{
    struct walk values = { .of = NUMBERS_OF_BUSINESS, .read = export_step_values };
    struct walk breakdowns = { .of = NUMBERS_OF_BUSINESS, .read = export_step_breakdowns };

    if (export_last_number(run, NUMBERS_OF_BUSINESS, &values.numbers.until, err) != 0 ||
        find_first_business(run, &values.numbers, err) != 0 || walk(run, &values, err) != 0)
        return -1;
    breakdowns.numbers = values.numbers;
    return export_may_continue(run) ? walk(run, &breakdowns, err) : 0;
}

static int walk_all(struct export_run *run, struct error *err)
{
    switch (run->job->kind) {
    case EXPORT_EVENTS:
        return str_is_null(run->job->run_id) ? walk_events(run, err) : walk_run(run, err);
    case EXPORT_BUSINESS:
        return walk_business(run, err);
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
    struct export_run run = { .job = job,
                              .source = source,
                              .db = db,
                              .shape = shapes[job->kind],
                              .part_bytes = EXPORT_PART };
    int r = 0;

    buf_init(&run.out, EXPORT_LINES_MAX);
    for (size_t i = 0; i < COUNT_OF(run.names); i++)
        buf_init(&run.names[i], KIB(64));
    if (job->format == EXPORT_CSV)
        csv_write_head(run.shape, &run.out);
    if (job->kind == EXPORT_LLM)
        r = prices_book(source->prices, db, &run.book, err);
    if (r == 0)
        r = walk_all(&run, err);
    price_book_release(run.book);
    export_drop_rest(&run.rest);
    if (r == 0 && run.cut)
        r = err_set(err, ERR_INTERNAL, "a line of the export is too long");
    if (r == 0)
        export_flush(&run);
    if (r == 0 && export_is_unwanted(&run))
        r = err_set(err, ERR_BUSY, "the export was ended before it was complete");
    buf_done(&run.out);
    for (size_t i = 0; i < COUNT_OF(run.names); i++)
        buf_done(&run.names[i]);
    return r;
}

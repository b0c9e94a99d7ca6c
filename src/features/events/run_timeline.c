/* run_timeline.c - sums up a run by category and time. */
#include "api/api.h"
#include "api/call.h"
#include "db/db.h"
#include "features/access/registry.h"
#include "features/events/event_log.h"
#include "features/events/event_pages.h"
#include "features/events/event_rows.h"
#include "features/events/routes.h"
#include "features/events/runs.h"
#include "features/events/shapes.h"
#include "shape/rows.h"

enum {
    EVENTS_MAX = 200000,
    BINS = 200, /* of the time of the run */
    LANES_MAX = 24,
};

/* What is counted of a run. */
struct run_timeline_span {
    int64_t tenant_id, run_no;
    int64_t from;       /* the timestamp of the run's first event */
    int64_t bin_us;     /* how much time a bin covers */
    int64_t events_max; /* the first ones that arrived */
    int64_t lanes_max;  /* categories, in the order of their first events */
};

/* The events of one category in one bin. The text is valid during the call only. */
struct run_timeline_bin {
    struct str category; /* null: all categories beyond lanes_max */
    int64_t first_at, last_at;
    int64_t events, errors, warnings;
};

/* clang-format off */
/* $3 is where the first bin begins, $4 how long a bin is, $5 how many events are counted, $6 how many
 * categories have rows of their own: the first ones. */
#define COUNTED(source, sorted, bytewise)                                                          \
    "WITH counted AS (SELECT k.category, k.timestamp, (k.timestamp - $3) / $4 AS bin,"             \
    " CASE WHEN " EVENT_IS_ERROR " THEN 1 ELSE 0 END AS error,"                                    \
    " CASE WHEN " EVENT_IS_WARNING " THEN 1 ELSE 0 END AS warning"                                 \
    " FROM " source sorted " LIMIT $5),"                                                           \
    " lanes AS (SELECT category, MIN(timestamp) AS first_at FROM counted GROUP BY category"        \
    " ORDER BY MIN(timestamp), category" bytewise " LIMIT $6)"                                     \
    " SELECT l.category, MIN(c.timestamp), MAX(c.timestamp), COUNT(*), SUM(c.error),"              \
    " SUM(c.warning) FROM counted c LEFT JOIN lanes l ON l.category = c.category"                  \
    " GROUP BY l.first_at, l.category, c.bin"                                                      \
    " ORDER BY l.first_at NULLS LAST, l.category" bytewise ", c.bin"
static const struct db_query select_bins = {
    .sqlite = COUNTED("run_extents x CROSS JOIN events k ON k.event_no >= x.first_event_no"
                      " AND k.event_no < x.first_event_no + x.n"
                      " WHERE x.run_no = $2 AND k.tenant_id = $1",
                      " ORDER BY x.first_event_no, k.event_no", ""),
    .postgres = COUNTED("events k WHERE k.tenant_id = $1 AND k.run_no = $2",
                        " ORDER BY k.event_no", " COLLATE \"C\""),
};
/* clang-format on */

struct bin_reader {
    void (*each)(void *ctx, const struct run_timeline_bin *bin);
    void *ctx;
};

static bool read_bin(void *ctx, const struct db_row *row)
{
    const struct bin_reader *reader = ctx;
    const struct run_timeline_bin bin = {
        .category = db_is_null(row, 0) ? STR_NULL : db_get_text(row, 0),
        .first_at = db_get_int(row, 1),
        .last_at = db_get_int(row, 2),
        .events = db_get_int(row, 3),
        .errors = db_get_int(row, 4),
        .warnings = db_get_int(row, 5),
    };

    reader->each(reader->ctx, &bin);
    return true;
}

/* Calls `each` for every bin that has events: all of a category in a row, in the order of time. */
static int run_timeline_bins(struct db *db, const struct run_timeline_span *span,
                             void (*each)(void *ctx, const struct run_timeline_bin *bin), void *ctx,
                             struct error *err)
{
    struct bin_reader reader = { each, ctx };
    const struct db_args args =
        DB_ARGS(db_int(span->tenant_id), db_int(span->run_no), db_int(span->from),
                db_int(span->bin_us), db_int(span->events_max), db_int(span->lanes_max));

    return db_exec(db, &select_bins, args, read_bin, &reader, err);
}

struct summing {
    struct arena *arena;
    struct run_timeline *ret;
    struct rows lanes; /* struct timeline_lane */
    struct rows ticks; /* struct timeline_tick, of the last lane */
};

/* Gives the last lane its ticks. */
static void end_lane(struct summing *s)
{
    struct timeline_lane *lanes = s->lanes.items;

    if (s->lanes.n > 0)
        lanes[s->lanes.n - 1].ticks = (struct list){ s->ticks.items, s->ticks.n };
    s->ticks = (struct rows){ .arena = s->arena, .size = sizeof(struct timeline_tick) };
}

static struct timeline_lane *lane_of(struct summing *s, const struct run_timeline_bin *bin)
{
    struct timeline_lane *lanes = s->lanes.items;

    if (s->lanes.n > 0 && str_eq(lanes[s->lanes.n - 1].category, bin->category))
        return &lanes[s->lanes.n - 1];
    end_lane(s);
    lanes = rows_add(&s->lanes);
    *lanes = (struct timeline_lane){ .category = arena_copy(s->arena, bin->category),
                                     .first_at = bin->first_at };
    return lanes;
}

static void add_bin(void *ctx, const struct run_timeline_bin *bin)
{
    struct summing *s = ctx;
    struct timeline_lane *lane;
    struct timeline_tick *tick;

    s->ret->events += bin->events;
    s->ret->errors += bin->errors;
    s->ret->warnings += bin->warnings;
    if (str_is_null(bin->category)) {
        s->ret->other_events += bin->events;
        return;
    }
    lane = lane_of(s, bin);
    lane->last_at = bin->last_at;
    lane->events += bin->events;
    lane->errors += bin->errors;
    lane->warnings += bin->warnings;
    tick = rows_add(&s->ticks);
    *tick = (struct timeline_tick){ bin->first_at, bin->events, bin->errors };
}

/* From one snapshot of the database. */
static int sum_up(struct db *db, const struct run_key *key, int64_t run_no, struct summing *s,
                  struct error *err)
{
    struct run_timeline_span span = { .tenant_id = key->tenant->id,
                                      .run_no = run_no,
                                      .events_max = EVENTS_MAX,
                                      .lanes_max = LANES_MAX };
    struct run_row run;

    if (store_run(db, key->tenant->id, run_no, s->arena, &run, err) != 0)
        return -1;
    if (run.state.event_count == 0)
        return run_not_found(key, err);
    span.from = run.state.first_at;
    span.bin_us = (run.state.last_at - run.state.first_at) / BINS + 1;
    if (run_timeline_bins(db, &span, add_bin, s, err) != 0)
        return -1;
    end_lane(s);
    s->ret->lanes = (struct list){ s->lanes.items, s->lanes.n };
    return 0;
}

int run_timeline_read(struct api_call *call, struct db *db, struct error *err)
{
    const struct run_path *path = call->params;
    const struct run_key key = { .tenant = call->tenant, .run_id = path->run_id };
    struct event_log *log = events_log(call->api->engine);
    struct run_timeline *ret = call->answer;
    struct arena *arena = call->arena;
    struct summing s = { .arena = arena,
                         .ret = ret,
                         .lanes = { .arena = arena, .size = sizeof(struct timeline_lane) } };
    int64_t run_no;

    *ret = (struct run_timeline){ 0 };
    if (log->methods->find_run(log, db, call->tenant_id, path->run_id, &run_no, err) != 0 ||
        db_begin(db, err) != 0)
        return -1;
    return db_end_read(db, sum_up(db, &key, run_no, &s, err));
}

/* run_timeline.c - sums up a run by category and time. */
#include "api/call.h"
#include "db/db.h"
#include "features/events/event_pages.h"
#include "features/events/routes.h"
#include "features/events/runs.h"
#include "features/events/shapes.h"
#include "shape/rows.h"

enum {
    EVENTS_MAX = 200000,
    BINS = 200, /* of the time of the run */
    LANES_MAX = 24,
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

struct summing {
    struct arena *arena;
    struct run_timeline *ret;
    struct rows lanes; /* struct timeline_lane */
    struct rows ticks; /* struct timeline_tick, of the last lane */
};

/* Moves the collected ticks to the last lane. */
static void end_lane(struct summing *s)
{
    struct timeline_lane *lanes = s->lanes.items;

    if (s->lanes.n > 0)
        lanes[s->lanes.n - 1].ticks = (struct list){ s->ticks.items, s->ticks.n };
    s->ticks = (struct rows){ .arena = s->arena, .size = sizeof(struct timeline_tick) };
}

static struct timeline_lane *lane_of(struct summing *s, struct str category, int64_t first_at)
{
    struct timeline_lane *lanes = s->lanes.items;

    if (s->lanes.n > 0 && str_eq(lanes[s->lanes.n - 1].category, category))
        return &lanes[s->lanes.n - 1];
    end_lane(s);
    lanes = rows_add(&s->lanes);
    *lanes =
        (struct timeline_lane){ .category = arena_copy(s->arena, category), .first_at = first_at };
    return lanes;
}

/* The events of one category in one bin: all bins of a category follow each other, in the order of
 * time. Those of all categories beyond LANES_MAX have none. */
static bool add_bin(void *ctx, const struct db_row *row)
{
    struct summing *s = ctx;
    const int64_t first_at = db_get_int(row, 1), events = db_get_int(row, 3);
    const int64_t errors = db_get_int(row, 4), warnings = db_get_int(row, 5);
    struct timeline_lane *lane;

    s->ret->events += events;
    s->ret->errors += errors;
    s->ret->warnings += warnings;
    if (db_is_null(row, 0)) {
        s->ret->other_events += events;
        return true;
    }
    lane = lane_of(s, db_get_text(row, 0), first_at);
    lane->last_at = db_get_int(row, 2);
    lane->events += events;
    lane->errors += errors;
    lane->warnings += warnings;
    *(struct timeline_tick *)rows_add(&s->ticks) =
        (struct timeline_tick){ first_at, events, errors };
    return true;
}

static int load_timeline(struct api_call *call, struct db *db, int64_t run_no,
                         const struct run_row *run, struct error *err)
{
    struct summing s = { .arena = call->arena,
                         .ret = call->answer,
                         .lanes = { .arena = call->arena, .size = sizeof(struct timeline_lane) } };
    const int64_t from = run->state.first_at;

    *s.ret = (struct run_timeline){ 0 };
    if (db_exec(db, &select_bins,
                DB_ARGS(db_int(call->tenant_id), db_int(run_no), db_int(from),
                        db_int((run->state.last_at - from) / BINS + 1), db_int(EVENTS_MAX),
                        db_int(LANES_MAX)),
                add_bin, &s, err) != 0)
        return -1;
    end_lane(&s);
    s.ret->lanes = (struct list){ s.lanes.items, s.lanes.n };
    return 0;
}

int run_timeline_read(struct api_call *call, struct db *db, struct error *err)
{
    return run_read_path(call, db, load_timeline, err);
}

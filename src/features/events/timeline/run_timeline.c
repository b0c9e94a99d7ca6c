/* run_timeline.c - sums up a run by category and time. */
#include "features/events/routes.h"

#include "api/api.h"
#include "api/call.h"
#include "features/access/registry.h"
#include "features/events/event_log.h"
#include "features/events/runs.h"
#include "features/events/runs_store.h"
#include "features/events/shapes.h"
#include "features/events/timeline/run_timeline_store.h"
#include "shape/rows.h"

enum {
    EVENTS_MAX = 200000,
    BINS = 200, /* of the time of the run */
    LANES_MAX = 24,
};

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
    if (store_run_timeline(db, &span, add_bin, s, err) != 0)
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

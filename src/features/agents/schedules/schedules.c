/* schedules.c - schedules and maintenance windows as others read them. */
#include "features/agents/schedules/schedules.h"

#include "base/clock.h"
#include "features/agents/schedules/shapes.h"
#include "features/agents/schedules/store.h"

static struct opt_int seconds_of(int64_t us)
{
    return us == 0 ? (struct opt_int){ 0 } : (struct opt_int){ true, us / USEC_PER_SEC };
}

struct agent_schedule *schedule_answer(const struct opt_int *declared_seconds,
                                       const struct schedule_row *row, int64_t now_us,
                                       struct arena *arena)
{
    const struct schedule s = schedule_of(declared_seconds, row);
    const bool is_cron = s.kind == SCHEDULE_CRON;
    struct agent_schedule *ret;

    if (s.kind == SCHEDULE_NONE)
        return NULL;
    ret = ARENA_NEW(arena, struct agent_schedule);
    *ret = (struct agent_schedule){
        .kind = str_of(schedule_kind_names[is_cron ? 1 : 0]),
        .interval_seconds = seconds_of(s.interval_us),
        .cron = is_cron ? arena_copy(arena, row->cron) : STR_NULL,
        .time_zone = is_cron ? arena_copy(arena, row->time_zone) : STR_NULL,
        .grace_seconds = schedule_grace_us(&s, now_us) / USEC_PER_SEC,
        .set_grace_seconds = row->grace_seconds,
        .paused = s.paused,
        .source = str_of(schedule_source_names[s.is_set ? 1 : 0]),
    };
    return ret;
}

int schedules_windows(struct db *db, int64_t tenant_id, struct arena *arena, struct windows *ret,
                      struct error *err)
{
    const struct window_row *rows;
    struct window *items;
    struct list list;

    if (store_windows(db, tenant_id, arena, &list, err) != 0)
        return -1;
    rows = list.items;
    items = ARENA_ARRAY(arena, struct window, list.n);
    for (size_t i = 0; i < list.n; i++)
        items[i] = window_of(&rows[i]);
    *ret = (struct windows){ .items = items, .n = list.n };
    return 0;
}

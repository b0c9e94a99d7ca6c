/* schedules.c - schedules between the API's shapes and rows. */
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

static struct schedule_row row_of(const struct schedule_set *set, int64_t now_us)
{
    if (set == NULL)
        return (struct schedule_row){ .scheduled_at = now_us };
    return (struct schedule_row){ .every_seconds = set->interval_seconds,
                                  .cron = set->cron,
                                  .time_zone = str_is_null(set->cron) ? STR_NULL : set->time_zone,
                                  .grace_seconds = set->grace_seconds,
                                  .paused = set->paused,
                                  .scheduled_at = now_us };
}

int schedules_set(struct db *db, int64_t tenant_id, const struct schedule_set *set,
                  struct arena *arena, struct schedule_state *ret, struct error *err)
{
    const int64_t now_us = clock_wall_us();
    const struct schedule_row row = row_of(set, now_us);
    struct scheduled_agent agent;

    if (store_schedule(db, tenant_id, ret->agent_name, arena, &agent, err) != 0)
        return -1;
    if (agent.agent_id == 0)
        return err_set(err, ERR_NOT_FOUND, "there is no agent '%.*s'", STR_ARG(ret->agent_name));
    ret->schedule = schedule_answer(&agent.interval_seconds, &row, now_us, arena);
    if (set != NULL && ret->schedule == NULL)
        return err_set(err, ERR_CONFLICT,
                       "agent '%.*s' declares no interval; set an interval or a cron expression",
                       STR_ARG(ret->agent_name));
    return store_schedule_set(db, tenant_id, agent.agent_id, &row, err);
}

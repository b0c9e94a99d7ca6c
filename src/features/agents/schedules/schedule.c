/* schedule.c - expected times by interval or cron, in and out of maintenance. */
#include "features/agents/schedules/schedule.h"

#include <assert.h>

#include "base/clock.h"
#include "base/zone.h"
#include "features/agents/schedules/windows.h"

enum { MOVES_MAX = 64 }; /* from window to window: after those it is due in one */

static const int64_t interval_max_s = 100LL * 365 * 24 * 3600;
static const int64_t grace_least_us = 60LL * USEC_PER_SEC, grace_most_us = 3600LL * USEC_PER_SEC;

static int64_t interval_of(const struct opt_int *seconds)
{
    int64_t value = seconds->has ? seconds->value : 0;

    if (value <= 0)
        return 0;
    return (value < interval_max_s ? value : interval_max_s) * USEC_PER_SEC;
}

static const struct zone *zone_or_utc(struct str name)
{
    const struct zone *zone = str_is_null(name) ? NULL : zone_find(name);

    return zone == NULL ? zone_find(STR_LIT("UTC")) : zone;
}

struct schedule schedule_of(const struct opt_int *declared_seconds, const struct schedule_row *row)
{
    struct schedule s = { .paused = row->paused, .since_at = row->scheduled_at };
    const bool has_own = row->every_seconds.has || !str_is_null(row->cron);

    s.is_set = has_own || row->grace_seconds.has || row->paused;
    s.grace_us = row->grace_seconds.has ? row->grace_seconds.value * USEC_PER_SEC : 0;
    if (!str_is_null(row->cron)) {
        if (cron_parse(row->cron, &s.cron) == NULL)
            s.kind = SCHEDULE_CRON;
        s.zone = zone_or_utc(row->time_zone);
        return s;
    }
    s.interval_us = interval_of(has_own ? &row->every_seconds : declared_seconds);
    if (s.interval_us > 0)
        s.kind = SCHEDULE_INTERVAL;
    return s;
}

bool schedule_expects(const struct schedule *s)
{
    return s->kind != SCHEDULE_NONE && !s->paused;
}

/* The first expected time after a moment. */
static int64_t next_due(const struct schedule *s, int64_t after)
{
    int64_t next;

    assert(s->kind != SCHEDULE_NONE);
    if (s->kind == SCHEDULE_INTERVAL)
        return after + s->interval_us;
    next = cron_next(&s->cron, s->zone, after / USEC_PER_SEC);
    return next == INT64_MAX ? after + interval_max_s * USEC_PER_SEC : next * USEC_PER_SEC;
}

/* Half of the time to the report after this one, but at least a minute and at most an hour. */
static int64_t grace_of(const struct schedule *s, int64_t due)
{
    int64_t half;

    if (s->grace_us > 0)
        return s->grace_us;
    half = (next_due(s, due) - due) / 2;
    if (half < grace_least_us)
        return grace_least_us;
    return half < grace_most_us ? half : grace_most_us;
}

static int64_t from_of(const struct schedule *s, int64_t from)
{
    return s->since_at != TIME_NULL && s->since_at > from ? s->since_at : from;
}

static struct deadline deadline_of(const struct schedule *s, int64_t due)
{
    return (struct deadline){ due, due + grace_of(s, due) };
}

struct deadline schedule_deadline(const struct schedule *s, int64_t from)
{
    return deadline_of(s, next_due(s, from_of(s, from)));
}

struct deadline schedule_deadline_outside(const struct schedule *s, const struct windows *windows,
                                          int64_t from)
{
    struct deadline d = schedule_deadline(s, from);
    int64_t end = windows_end(windows, d.due_at, d.silent_at);

    if (end == TIME_NULL)
        return d;
    d = deadline_of(s, s->kind == SCHEDULE_CRON ? next_due(s, end - 1) : next_due(s, end));
    for (int i = 0; i < MOVES_MAX; i++) {
        end = windows_end(windows, d.due_at, d.silent_at);
        if (end == TIME_NULL)
            break;
        d = (struct deadline){ end, end + (d.silent_at - d.due_at) };
    }
    return d;
}

int64_t schedule_grace_us(const struct schedule *s, int64_t from)
{
    return grace_of(s, next_due(s, from));
}

/* schedules.c - expected times by interval or cron, in and out of maintenance. */
#include "features/agents/schedules/schedules.h"

#include <assert.h>

#include "base/clock.h"
#include "base/zone.h"

static const int64_t interval_max_s = 100LL * 365 * 24 * 3600;
static const int64_t grace_least_us = 60LL * USEC_PER_SEC, grace_most_us = 3600LL * USEC_PER_SEC;
static const int64_t early_most_us = 60LL * USEC_PER_SEC, ahead_most_us = 60LL * USEC_PER_SEC;

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

int64_t schedule_from(const struct schedule *s, int64_t seen_at, int64_t now)
{
    const bool counts = s->since_at != TIME_NULL && s->since_at <= now + ahead_most_us;

    return counts && s->since_at > seen_at ? s->since_at : seen_at;
}

int64_t schedule_early_us(const struct schedule *s, int64_t due)
{
    int64_t quarter;

    if (s->kind != SCHEDULE_CRON)
        return 0;
    quarter = (next_due(s, due) - due) / 4;
    return quarter < early_most_us ? quarter : early_most_us;
}

static struct deadline deadline_of(const struct schedule *s, int64_t due)
{
    return (struct deadline){ due, due + grace_of(s, due) };
}

struct deadline schedule_deadline(const struct schedule *s, int64_t seen_at, int64_t now)
{
    const int64_t from = schedule_from(s, seen_at, now);
    int64_t due = next_due(s, from);

    if (from == seen_at && due - from <= schedule_early_us(s, due))
        due = next_due(s, due);
    return deadline_of(s, due);
}

enum { LOOKS_MAX = 600 };

static const int64_t day_us = 86400LL * USEC_PER_SEC;
static const int64_t windows_far_us = 31LL * 86400 * USEC_PER_SEC;

/* The first time after a moment that a weekly one begins. */
static int64_t next_begin(const struct window *w, int64_t after)
{
    return cron_next(&w->begins, w->zone, after / USEC_PER_SEC) * USEC_PER_SEC;
}

bool window_covers(const struct window *w, int64_t from, int64_t until, int64_t *ret_from,
                   int64_t *ret_until)
{
    *ret_from = w->length_us == 0 ? w->from_at : next_begin(w, from - w->length_us);
    *ret_until = w->length_us == 0 ? w->until_at : *ret_from + w->length_us;
    return *ret_from < until && from < *ret_until;
}

bool window_latest(const struct window *w, int64_t now, int64_t *ret_from, int64_t *ret_until)
{
    int64_t next;

    if (w->length_us == 0) {
        *ret_from = w->from_at;
        *ret_until = w->until_at;
        return w->from_at <= now;
    }
    *ret_from = next_begin(w, now - 8 * day_us); /* it comes back within a week */
    while ((next = next_begin(w, *ret_from)) <= now)
        *ret_from = next;
    *ret_until = *ret_from + w->length_us;
    return *ret_from <= now;
}

struct windows_span {
    int64_t from, until;
};

/* Does the window have a part of that time, and matter to the agent? */
static bool look(struct windows_search *search, const struct window *w, struct windows_span *span)
{
    int64_t from, until;

    search->looks++;
    if ((w->agent_id != 0 && w->agent_id != search->windows->agent_id) ||
        !window_covers(w, span->from, span->until, &from, &until))
        return false;
    span->from = from > span->from ? from : span->from;
    span->until = w->endless ? span->from + windows_far_us : until;
    return true;
}

static bool is_far(const struct windows_search *search, int64_t at)
{
    return at > search->now + windows_far_us || search->looks > LOOKS_MAX;
}

int64_t windows_end(struct windows_search *search, int64_t at)
{
    const struct windows *windows = search->windows;
    int64_t end = at;

    /* A window that ended may come right back: it is looked at again before the others. */
    for (size_t i = 0, missed = 0; missed < windows->n && !is_far(search, end);) {
        struct windows_span span = { end, end + 1 };

        if (look(search, &windows->items[i], &span)) {
            end = span.until;
            missed = 0;
        } else {
            i = (i + 1) % windows->n;
            missed++;
        }
    }
    return end == at ? TIME_NULL : end;
}

/* The first maintenance in that time; what lies before it does not count. */
static bool windows_first(struct windows_search *search, const struct windows_span *of,
                          struct windows_span *ret)
{
    const struct windows *windows = search->windows;
    bool found = false;

    if (is_far(search, of->from))
        return false;
    *ret = *of;
    for (size_t i = 0; i < windows->n; i++) {
        struct windows_span span = { of->from, ret->until };

        if (!look(search, &windows->items[i], &span))
            continue;
        if (!found || span.from < ret->from)
            *ret = (struct windows_span){ span.from, ret->until };
        found = true;
    }
    if (!found)
        return false;
    ret->until = windows_end(search, ret->from);
    return ret->until != TIME_NULL;
}

/* What is due in maintenance is due at the next time after it; if that is in maintenance too, when
 * that one ends. */
static void move_due(const struct schedule *s, struct windows_search *search, struct deadline *d)
{
    int64_t end = windows_end(search, d->due_at), grace;

    if (end == TIME_NULL)
        return;
    *d = deadline_of(s, next_due(s, s->kind == SCHEDULE_CRON ? end - 1 : end));
    grace = d->silent_at - d->due_at;
    end = windows_end(search, d->due_at);
    if (end != TIME_NULL)
        *d = (struct deadline){ end, end + grace };
}

/* The grace does not pass in maintenance. */
static void stretch_grace(struct windows_search *search, struct deadline *d)
{
    struct windows_span left = { d->due_at, d->silent_at }, found;

    while (windows_first(search, &left, &found)) {
        left.until += found.until - found.from;
        left.from = found.until;
    }
    d->silent_at = left.until;
}

struct deadline schedule_deadline_outside(const struct schedule *s, const struct windows *windows,
                                          int64_t seen_at, int64_t now)
{
    struct deadline d = schedule_deadline(s, seen_at, now);
    struct windows_search search = { .windows = windows, .now = now };
    int64_t end;

    if (windows->n == 0)
        return d;
    move_due(s, &search, &d);
    stretch_grace(&search, &d);
    if (search.looks > LOOKS_MAX && d.silent_at <= now) {
        search.looks = 0; /* too many windows to check: a window in effect now decides */
        end = windows_end(&search, now);
        d.silent_at = end == TIME_NULL ? d.silent_at : end;
    }
    return d;
}

int64_t schedule_grace_us(const struct schedule *s, int64_t from)
{
    return grace_of(s, next_due(s, from));
}

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

const char *const liveness_names[] = { "up",          "late",           "silent",
                                       "unscheduled", "never_reported", "disabled",
                                       NULL };

struct liveness_verdict liveness_of(const struct liveness *agent, int64_t now_us)
{
    struct liveness_verdict verdict = { LIVENESS_UNSCHEDULED, TIME_NULL, TIME_NULL, TIME_NULL };
    struct windows_search search = { .windows = &agent->windows, .now = now_us };
    struct deadline deadline;

    if (agent->last_seen_at == TIME_NULL)
        verdict.state = LIVENESS_NEVER_REPORTED;
    if (!agent->enabled)
        verdict.state = LIVENESS_DISABLED;
    if (agent->windows.n > 0 && !agent->state_only)
        verdict.maintenance_until = windows_end(&search, now_us);
    if (!agent->enabled || !schedule_expects(&agent->schedule) || agent->last_seen_at == TIME_NULL)
        return verdict;
    deadline = schedule_deadline(&agent->schedule, agent->last_seen_at, now_us);
    if (!agent->state_only || now_us >= deadline.due_at) /* maintenance only moves it ahead */
        deadline = schedule_deadline_outside(&agent->schedule, &agent->windows, agent->last_seen_at,
                                             now_us);
    verdict.next_expected_at = deadline.due_at;
    verdict.silent_at = deadline.silent_at;
    verdict.state = LIVENESS_UP;
    if (now_us >= deadline.due_at)
        verdict.state = now_us >= deadline.silent_at ? LIVENESS_SILENT : LIVENESS_LATE;
    return verdict;
}

/* windows.c - which times a maintenance window covers. */
#include "features/agents/schedules/schedules.h"

#include "base/clock.h"

enum { LOOKS_MAX = 600 };

static const int64_t day_us = 86400LL * USEC_PER_SEC;
const int64_t windows_far_us = 31LL * 86400 * USEC_PER_SEC;

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

bool windows_first(struct windows_search *search, const struct windows_span *of,
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

bool windows_gave_up(const struct windows_search *search)
{
    return search->looks > LOOKS_MAX;
}

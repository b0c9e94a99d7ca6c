/* windows.c - which times a maintenance window covers. */
#include "features/agents/schedules/windows.h"

#include "base/clock.h"
#include "base/zone.h"

enum { JOINED_MAX = 64 }; /* windows that follow each other and count as one */

struct window window_of(const struct window_row *row)
{
    const struct zone *zone = str_is_null(row->time_zone) ? NULL : zone_find(row->time_zone);
    struct window w = { .tenant_id = row->tenant_id,
                        .agent_id = row->agent_id.has ? row->agent_id.value : 0,
                        .from_at = row->from_at,
                        .until_at = row->until_at };

    if (row->weekdays == 0)
        return w;
    w.length_us = row->minutes * 60 * USEC_PER_SEC;
    w.zone = zone == NULL ? zone_find(STR_LIT("UTC")) : zone;
    w.begins = (struct cron){ .minutes = 1ULL << row->start_minute % 60,
                              .hours = 1U << row->start_minute / 60,
                              .days = UINT32_MAX,
                              .months = UINT16_MAX,
                              .weekdays = (uint8_t)row->weekdays };
    return w;
}

/* The first time that it comes back and ends after `from`. */
static int64_t begins_at(const struct window *w, int64_t from)
{
    return cron_next(&w->begins, w->zone, (from - w->length_us) / USEC_PER_SEC) * USEC_PER_SEC;
}

bool window_covers(const struct window *w, int64_t from, int64_t until, int64_t *ret_from,
                   int64_t *ret_until)
{
    *ret_from = w->length_us == 0 ? w->from_at : begins_at(w, from);
    *ret_until = w->length_us == 0 ? w->until_at : *ret_from + w->length_us;
    return *ret_from < until && from < *ret_until;
}

/* The latest end of the windows that cover any of that time. */
static int64_t latest_end(const struct windows *windows, int64_t from, int64_t until)
{
    int64_t end = TIME_NULL;

    for (size_t i = 0; i < windows->n; i++) {
        const struct window *w = &windows->items[i];
        int64_t w_from, w_until;

        if (w->agent_id != 0 && w->agent_id != windows->agent_id)
            continue;
        if (window_covers(w, from, until, &w_from, &w_until) && w_until > end)
            end = w_until;
    }
    return end;
}

int64_t windows_end(const struct windows *windows, int64_t from, int64_t until)
{
    int64_t end = latest_end(windows, from, until);

    for (int i = 0; end != TIME_NULL && i < JOINED_MAX; i++) {
        int64_t next = latest_end(windows, end, end + 1);

        if (next == TIME_NULL)
            break;
        end = next;
    }
    return end;
}

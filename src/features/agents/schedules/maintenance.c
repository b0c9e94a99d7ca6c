/* maintenance.c - maintenance windows between the API's shapes and rows. */
#include "base/clock.h"
#include "base/digest.h"
#include "features/agents/schedules/schedules.h"
#include "features/agents/schedules/shapes.h"
#include "features/agents/schedules/store.h"
#include "features/agents/store.h"

enum { TIME_DIGITS = 11, RANDOM_DIGITS = 10, WEEK = 7 };

static const int64_t keep_us = 31LL * 86400 * USEC_PER_SEC; /* listed after they are over */

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

static struct list names_of(int64_t weekdays, struct arena *arena)
{
    struct str *names = ARENA_ARRAY(arena, struct str, WEEK);
    size_t n = 0;

    for (int day = 0; day < WEEK; day++)
        if ((weekdays >> day & 1) != 0)
            names[n++] = str_of(weekday_names[day]);
    return (struct list){ names, n };
}

static int64_t bits_of(const struct list *weekdays)
{
    const struct str *names = weekdays->items;
    int64_t bits = 0;

    for (size_t i = 0; i < weekdays->n; i++)
        for (int day = 0; day < WEEK; day++)
            if (str_eq_c(names[i], weekday_names[day]))
                bits |= INT64_C(1) << day;
    return bits;
}

static bool is_active(const struct window_row *row, int64_t now_us)
{
    const struct window w = window_of(row);
    int64_t from, until;

    return window_covers(&w, now_us, now_us + 1, &from, &until);
}

static struct maintenance_window answer_of(const struct window_row *row, int64_t now_us,
                                           struct arena *arena)
{
    const bool is_weekly = row->weekdays != 0;

    return (struct maintenance_window){
        .window_id = row->window_id,
        .agent_name = row->agent_name,
        .note = row->note,
        .from = row->from_at,
        .until = row->until_at,
        .weekdays = names_of(row->weekdays, arena),
        .start = is_weekly ? arena_printf(arena, "%02d:%02d", (int)(row->start_minute / 60),
                                          (int)(row->start_minute % 60))
                           : STR_NULL,
        .minutes = is_weekly ? (struct opt_int){ true, row->minutes } : (struct opt_int){ 0 },
        .time_zone = row->time_zone,
        .active = is_active(row, now_us),
        .created_at = row->created_at,
        .created_by = row->created_by,
    };
}

int windows_show(const struct windows_call *call, struct window_list *ret, struct error *err)
{
    struct maintenance_window *windows;
    const struct window_row *rows;
    struct list list;
    size_t n = 0;

    if (store_windows(call->db, call->tenant_id, call->arena, &list, err) != 0)
        return -1;
    rows = list.items;
    windows = ARENA_ARRAY(call->arena, struct maintenance_window, list.n);
    for (size_t i = 0; i < list.n; i++)
        if (!rows[i].ended)
            windows[n++] = answer_of(&rows[i], call->now_us, call->arena);
    ret->windows = (struct list){ windows, n };
    return 0;
}

/* Is there room for one more, after those that are over were taken off the list? */
static int make_room(const struct windows_call *call, struct error *err)
{
    struct window_list listed;

    if (store_windows_prune(call->db, call->tenant_id, call->now_us - keep_us, err) != 0 ||
        windows_show(call, &listed, err) != 0)
        return -1;
    if (listed.windows.n >= WINDOWS_MAX)
        return err_set(err, ERR_CONFLICT,
                       "the workspace has %d maintenance windows; remove one first", WINDOWS_MAX);
    return 0;
}

static struct str make_id(struct arena *arena, int64_t at)
{
    char digits[TIME_DIGITS + RANDOM_DIGITS];

    digest_base62((uint64_t)at, digits, TIME_DIGITS);
    digest_random_base62(digits + TIME_DIGITS, RANDOM_DIGITS);
    return arena_printf(arena, "mwn_%.*s", (int)sizeof(digits), digits);
}

int windows_add(const struct windows_call *call, const struct window_create *body, struct str actor,
                struct maintenance_window *ret, struct error *err)
{
    const bool is_weekly = body->weekdays.n > 0;
    struct agent_row agent = { 0 };
    struct window_row row = { .tenant_id = call->tenant_id,
                              .window_id = make_id(call->arena, call->now_us),
                              .agent_name = body->agent_name,
                              .note = body->note,
                              .from_at = body->from,
                              .until_at = body->until,
                              .weekdays = bits_of(&body->weekdays),
                              .start_minute = is_weekly ? window_minute(body->start) : 0,
                              .minutes = is_weekly ? body->minutes.value : 0,
                              .time_zone = is_weekly ? body->time_zone : STR_NULL,
                              .created_at = call->now_us,
                              .created_by = actor };

    if (make_room(call, err) != 0)
        return -1;
    if (!str_is_null(body->agent_name)) {
        if (store_agent_find(call->db, call->tenant_id, body->agent_name, &agent, err) != 0)
            return -1;
        if (agent.agent_id == 0)
            return err_set(err, ERR_NOT_FOUND, "there is no agent '%.*s'",
                           STR_ARG(body->agent_name));
        row.agent_id = (struct opt_int){ true, agent.agent_id };
    }
    *ret = answer_of(&row, call->now_us, call->arena);
    return store_window_add(call->db, &row, err);
}

/* NULL when it is not listed. */
static int find_window(const struct windows_call *call, struct str window_id,
                       struct window_row **ret, struct error *err)
{
    struct window_row *rows;
    struct list list;

    if (store_windows(call->db, call->tenant_id, call->arena, &list, err) != 0)
        return -1;
    rows = list.items;
    *ret = NULL;
    for (size_t i = 0; i < list.n; i++)
        if (!rows[i].ended && str_eq(rows[i].window_id, window_id))
            *ret = &rows[i];
    return 0;
}

/* The time that it covered last stays known: agents were not expected in it. */
int windows_remove(const struct windows_call *call, struct str window_id, struct error *err)
{
    struct window_row *row;
    struct window w;
    int64_t from, until;

    if (find_window(call, window_id, &row, err) != 0)
        return -1;
    if (row == NULL)
        return err_set(err, ERR_NOT_FOUND, "there is no maintenance window '%.*s'",
                       STR_ARG(window_id));
    w = window_of(row);
    if (!window_latest(&w, call->now_us, &from, &until) || until <= row->created_at)
        return store_window_delete(call->db, call->tenant_id, window_id, err);
    row->from_at = from;
    row->until_at = until < call->now_us ? until : call->now_us;
    if (store_window_end(call->db, row, err) != 0)
        return -1;
    return store_windows_prune(call->db, call->tenant_id, call->now_us - keep_us, err);
}

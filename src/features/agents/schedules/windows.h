/* windows.h - maintenance: times in which no agent falls silent.
 *
 * A window is one span of time, or comes back each week on some days; it is for
 * one agent, or for all of a tenant. Weekly ones begin by the clock of a time
 * zone, as a cron expression would (base/cron.h), and last as many minutes as
 * they say.
 *
 * Thread-safe: values only.
 */
#pragma once
#include "base/cron.h"
#include "shape/shape.h"

/* As stored. */
struct window_row {
    int64_t tenant_id;
    struct str window_id;
    struct opt_int agent_id; /* none: all agents */
    struct str agent_name;   /* STR_NULL; not in store_windows_all() */
    struct str note;
    int64_t from_at, until_at; /* TIME_NULL: weekly */
    int64_t weekdays;          /* a bit for each, Sunday is 0; 0: once */
    int64_t start_minute, minutes;
    struct str time_zone; /* STR_NULL: once */
    int64_t created_at;
    struct str created_by;
    bool ended; /* a person removed it, or it is over for long: it is not listed */
};

struct window {
    int64_t tenant_id;
    int64_t agent_id; /* 0: all */
    int64_t from_at, until_at;
    int64_t length_us; /* of each time that it comes back; 0: once */
    bool endless;      /* all of every day */
    struct cron begins;
    const struct zone *zone;
};

/* Those that an agent looks at: the ones of its tenant. */
struct windows {
    const struct window *items;
    size_t n;
    int64_t agent_id;
};

struct window window_of(const struct window_row *row);

/* If the window covers any of the time from `from` up to `until`: when it began, and its end. */
bool window_covers(const struct window *w, int64_t from, int64_t until, int64_t *ret_from,
                   int64_t *ret_until);

/* The last time that it began, and its end; false: it has not begun yet. */
bool window_latest(const struct window *w, int64_t now, int64_t *ret_from, int64_t *ret_until);

/* A search looks at a bounded number of windows in all, and not further ahead than windows_far_us:
 * one tenant's windows must not hold up the watch over the agents of all. */
struct windows_search {
    const struct windows *windows;
    int64_t now;
    int looks; /* so far */
};

extern const int64_t windows_far_us;

struct windows_span {
    int64_t from, until;
};

/* The end of the maintenance that covers that time; windows that follow each other without a gap
 * count as one. TIME_NULL: that time is in no maintenance, or its end is too far ahead. */
int64_t windows_end(struct windows_search *search, int64_t at);

/* The first maintenance in that time; what lies before it does not count. */
bool windows_first(struct windows_search *search, const struct windows_span *of,
                   struct windows_span *ret);

/* Were there too many windows to look at? Then what was found may end too early. */
bool windows_gave_up(const struct windows_search *search);

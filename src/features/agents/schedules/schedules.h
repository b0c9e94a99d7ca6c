/* schedules.h - when an agent is expected to report, until when it may be late, and maintenance.
 *
 * What a person sets goes before what the agent declares. An agent is expected
 * an interval after its last sign of life, or at the next time that a cron
 * expression names; it is silent when its grace has passed as well. A schedule
 * that was just set counts from then on.
 *
 * In a maintenance window no agent falls silent. A window is one span of time,
 * or comes back each week on some days; it is for one agent, or for all of a
 * tenant. Weekly ones begin by the clock of a time zone, as a cron expression
 * would (base/cron.h), and last as many minutes as they say.
 *
 * Thread-safe: values only, but for the reads, which use the caller's connection.
 */
#pragma once
#include "base/cron.h"
#include "base/err.h"
#include "shape/shape.h"

struct db;
struct windows;

/* For queries that join agents `a` with their schedules: the columns of struct schedule_row. */
#define SCHEDULE_COLUMNS                                                                           \
    " c.every_seconds, c.cron, c.time_zone, c.grace_seconds,"                                      \
    " COALESCE(c.paused, 0) AS paused, c.scheduled_at"
#define SCHEDULE_JOIN                                                                              \
    " LEFT JOIN agent_schedules c ON c.tenant_id = a.tenant_id AND c.agent_id = a.agent_id"

/* What a person set, as stored; all without a value when nothing was. */
struct schedule_row {
    struct opt_int every_seconds;
    struct str cron, time_zone; /* STR_NULL */
    struct opt_int grace_seconds;
    bool paused;
    int64_t scheduled_at; /* when it was last changed; TIME_NULL: never */
};

enum schedule_kind { SCHEDULE_NONE, SCHEDULE_INTERVAL, SCHEDULE_CRON };

struct schedule {
    enum schedule_kind kind;
    bool is_set; /* by a person, in part at least */
    bool paused;
    int64_t interval_us;
    struct cron cron;
    const struct zone *zone;
    int64_t grace_us; /* 0: by the time between two expected reports */
    int64_t since_at; /* nothing is expected earlier; TIME_NULL */
};

/* A row whose cron expression cannot be read counts as none; a time zone that this system does not
 * have counts as UTC. */
struct schedule schedule_of(const struct opt_int *declared_seconds, const struct schedule_row *row);

/* Is there anything that the agent can be late for? */
bool schedule_expects(const struct schedule *schedule);

struct deadline {
    int64_t due_at;    /* late from then on */
    int64_t silent_at; /* silent from then on */
};

/* From when on it counts: a sign of life, or the later time when the schedule was set. One that is
 * more than a minute ahead was set by a clock that was wrong, and does not count. */
int64_t schedule_from(const struct schedule *schedule, int64_t seen_at, int64_t now);

/* How long before an expected time a sign of life stands for it: clocks differ a little. */
int64_t schedule_early_us(const struct schedule *schedule, int64_t due);

/* After a sign of life. The schedule expects something. */
struct deadline schedule_deadline(const struct schedule *schedule, int64_t seen_at, int64_t now);

/* The same, moved out of maintenance: an expected time in a window moves to the next one after the
 * window, and if that is in a window too, to that one's end. A window that cuts the grace makes it
 * longer. What is after `now` may be moved less than it will be (struct windows_search). */
struct deadline schedule_deadline_outside(const struct schedule *schedule,
                                          const struct windows *windows, int64_t seen_at,
                                          int64_t now);

/* The grace of the next expected report. */
int64_t schedule_grace_us(const struct schedule *schedule, int64_t from);

/* The schedule in force. */
struct agent_schedule {
    struct str kind;
    struct opt_int interval_seconds;
    struct str cron, time_zone; /* null */
    int64_t grace_seconds;
    struct opt_int set_grace_seconds;
    bool paused;
    struct str source;
};

extern const struct shape agent_schedule_shape;
extern const char *const schedule_kind_names[];   /* interval, cron */
extern const char *const schedule_source_names[]; /* declared, set */

/* For people; NULL: the agent has no schedule. */
struct agent_schedule *schedule_answer(const struct opt_int *declared_seconds,
                                       const struct schedule_row *row, int64_t now_us,
                                       struct arena *arena);

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

/* If the window covers any of the time from `from` up to `until`: when it began, and its end. */
bool window_covers(const struct window *w, int64_t from, int64_t until, int64_t *ret_from,
                   int64_t *ret_until);

/* The last time that it began, and its end; false: it has not begun yet. */
bool window_latest(const struct window *w, int64_t now, int64_t *ret_from, int64_t *ret_until);

/* A search looks at a bounded number of windows in all, and not further ahead than 31 days: one
 * tenant's windows must not hold up the watch over the agents of all. */
struct windows_search {
    const struct windows *windows;
    int64_t now;
    int looks; /* so far */
};

/* The end of the maintenance that covers that time; windows that follow each other without a gap
 * count as one. TIME_NULL: that time is in no maintenance, or its end is too far ahead. */
int64_t windows_end(struct windows_search *search, int64_t at);

/* The windows of a tenant, or of all by tenant (SCHEDULES_OF_ALL); in the arena. */
enum { SCHEDULES_OF_ALL = 0 };
int schedules_windows(struct db *db, int64_t tenant_id, struct arena *arena, struct windows *ret,
                      struct error *err) MUST_CHECK;

enum liveness_state {
    LIVENESS_UP,
    LIVENESS_LATE,
    LIVENESS_SILENT,
    LIVENESS_UNSCHEDULED,    /* it reports, and has no schedule, or one that is paused */
    LIVENESS_NEVER_REPORTED, /* it was only registered */
    LIVENESS_DISABLED,
    LIVENESS_STATES /* how many there are */
};

extern const char *const liveness_names[]; /* in that order, ends in NULL */

struct liveness {
    bool enabled;
    struct schedule schedule;
    struct windows windows;
    int64_t last_seen_at; /* TIME_NULL: never */
    bool state_only;      /* of an agent that is up: it need not be looked for in the windows */
};

struct liveness_verdict {
    enum liveness_state state;
    int64_t next_expected_at;  /* late from then on; TIME_NULL: nothing is expected, disabled or
                                * never seen */
    int64_t silent_at;         /* TIME_NULL in the same cases */
    int64_t maintenance_until; /* TIME_NULL: no window is open now */
};

struct liveness_verdict liveness_of(const struct liveness *agent, int64_t now_us);

/* schedule.h - when an agent is expected to report, and until when it may be late.
 *
 * What a person sets goes before what the agent declares. An agent is expected
 * an interval after its last sign of life, or at the next time that a cron
 * expression names; it is silent when its grace has passed as well. A schedule
 * that was just set counts from then on.
 *
 * Thread-safe: values only.
 */
#pragma once
#include "base/cron.h"
#include "shape/shape.h"

struct windows;

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

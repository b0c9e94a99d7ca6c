/* shapes.c - the shapes of schedules and maintenance windows. */
#include "features/agents/schedules/shapes.h"

#include "base/clock.h"
#include "base/cron.h"
#include "base/zone.h"
#include "shape/table.h"
#include "shape/timerange.h"

enum {
    INTERVAL_MAX_S = 366 * 86400,
    GRACE_MAX_S = 31 * 86400,
    WEEKLY_MAX_MINUTES = 24 * 60,
    CRON_TEXT_MAX = 256,
    ZONE_TEXT_MAX = 64,
    NOTE_MAX = 256
};

static const int64_t once_max_us = 366LL * 86400 * USEC_PER_SEC;

const char *const schedule_kind_names[] = { "interval", "cron", NULL };
const char *const schedule_source_names[] = { "declared", "set", NULL };
const char *const weekday_names[] = { "sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL };

static void check_zone(struct str name, struct arena *arena, struct problems *problems)
{
    if (zone_find(name) == NULL)
        rule_refuse_text(problems, arena, "time_zone", name,
                         "Should be a time zone that this system knows, such as UTC or "
                         "Europe/Berlin");
}

static void check_schedule(void *value, struct arena *arena, struct problems *problems)
{
    const struct schedule_set *set = value;
    struct cron cron;

    check_zone(set->time_zone, arena, problems);
    if (str_is_null(set->cron))
        return;
    if (set->interval_seconds.has)
        rule_refuse_text(problems, arena, "cron", set->cron,
                         "Should be an interval or a cron expression, not both");
    else if (cron_parse(set->cron, &cron) != NULL)
        rule_refuse_text(problems, arena, "cron", set->cron, cron_parse(set->cron, &cron));
}

int64_t window_minute(struct str text)
{
    int hour, minute;

    if (text.len != 5 || text.data[2] != ':')
        return -1;
    for (size_t i = 0; i < text.len; i++)
        if (i != 2 && (text.data[i] < '0' || text.data[i] > '9'))
            return -1;
    hour = (text.data[0] - '0') * 10 + (text.data[1] - '0');
    minute = (text.data[3] - '0') * 10 + (text.data[4] - '0');
    return hour > 23 || minute > 59 ? -1 : hour * 60 + minute;
}

static void check_weekly(const struct window_create *w, struct arena *arena,
                         struct problems *problems)
{
    const struct str *days = w->weekdays.items;

    for (size_t i = 0; i < w->weekdays.n; i++)
        if (!str_is_one_of(days[i], weekday_names))
            rule_refuse_text(problems, arena, "weekdays", days[i],
                             "Should be mon, tue, wed, thu, fri, sat or sun");
    if (window_minute(w->start) < 0)
        rule_refuse_text(problems, arena, "start", w->start,
                         "Should be a time of day such as 02:30");
    if (!w->minutes.has)
        rule_refuse_text(problems, arena, "minutes", STR_NULL,
                         "Should say how long a weekly window lasts");
    if (w->from != TIME_NULL || w->until != TIME_NULL)
        rule_refuse_text(problems, arena, "weekdays", STR_NULL,
                         "Should be from and until, or weekdays, not both");
}

static void check_window(void *value, struct arena *arena, struct problems *problems)
{
    const struct window_create *w = value;

    check_zone(w->time_zone, arena, problems);
    if (w->weekdays.n > 0) {
        check_weekly(w, arena, problems);
        return;
    }
    if (!str_is_null(w->start) || w->minutes.has)
        rule_refuse_text(problems, arena, "weekdays", STR_NULL,
                         "Should name the days of a weekly window");
    else if (w->from == TIME_NULL || w->until == TIME_NULL)
        rule_refuse_text(problems, arena, w->from == TIME_NULL ? "from" : "until", STR_NULL,
                         "Should be from and until, or weekdays, start and minutes");
    else if (w->until <= w->from || w->until - w->from > once_max_us)
        rule_refuse_text(problems, arena, "until", STR_NULL,
                         "Should be after from, and at most 366 days after it");
}

/* clang-format off */
SHAPE(agent_schedule, "CurrentSchedule", (.doc = "When an agent is expected to report.",
      .example = EXAMPLE({"kind": "cron", "interval_seconds": null, "cron": "0 8 * * mon-fri", "time_zone": "Europe/Berlin", "grace_seconds": 3600, "set_grace_seconds": null, "paused": false, "source": "set"})),
    STR(kind,                 .flags = F_REQUIRED, .choices = schedule_kind_names, .doc = "interval: this long after the last sign of life. cron: at times of day."),
    OPT_INT(interval_seconds, .flags = F_REQUIRED | F_NULL, .doc = "Seconds between two reports. Null: by cron."),
    STR(cron,                 .flags = F_REQUIRED | F_NULL, .doc = "Minute, hour, day of the month, month, day of the week. Null: by interval."),
    STR(time_zone,            .flags = F_REQUIRED | F_NULL, .doc = "Whose clock the cron expression follows. Null: by interval."),
    INT(grace_seconds,        .flags = F_REQUIRED, .doc = "How long the agent may be late before it is silent."),
    OPT_INT(set_grace_seconds, .flags = F_REQUIRED | F_NULL, .doc = "The grace that a person set. Null: it follows from the time between two reports."),
    BOOL(paused,              .flags = F_REQUIRED, .doc = "The agent is not expected to report."),
    STR(source,               .flags = F_REQUIRED, .choices = schedule_source_names, .doc = "declared: all of it as the agent registered. set: a person set at least a part of it."));

SHAPE(schedule_set, "ScheduleSet", (.doc = "When an agent is expected to report.", .rules = check_schedule,
      .example = EXAMPLE({"cron": "0 8 * * mon-fri", "time_zone": "Europe/Berlin"})),
    OPT_INT(interval_seconds, .flags = F_NULL, .least = 1, .most = INTERVAL_MAX_S, .doc = "Seconds between two reports."),
    STR(cron,                 .max = CRON_TEXT_MAX, .flags = F_NULL, .doc = "Instead: minute, hour, day of the month, month, day of the week, such as `0 8 * * mon-fri`. Without both, the interval that the agent declares stays."),
    STR(time_zone,            .max = ZONE_TEXT_MAX, .absent = "\"UTC\"", .doc = "IANA time zone of the cron expression. A time that its clock skips is due when it has jumped; one that it shows twice is due the first time."),
    OPT_INT(grace_seconds,    .flags = F_NULL, .least = 1, .most = GRACE_MAX_S, .doc = "How long the agent may be late. Null: half of the time between two reports, but at least a minute and at most an hour."),
    BOOL(paused,              .absent = "false", .doc = "Expect nothing of the agent until this is false again."));

SHAPE(schedule_state, "ScheduleState", (.doc = "An agent's schedule after a change.",
      .example = EXAMPLE({"agent_name": "invoice-reader"})),
    STR(agent_name, .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace."),
    NESTED(schedule, struct agent_schedule, agent_schedule_shape, .flags = F_REQUIRED | F_NULL, .doc = "The schedule in force. Null: it has none."));

SHAPE(window_create, "MaintenanceWindowCreate", (.doc = "Maintenance once, from one time until another, or each week.", .rules = check_window,
      .example = EXAMPLE({"note": "Moving the database", "from": "2026-01-16T20:00:00Z", "until": "2026-01-16T23:00:00Z"})),
    STR(agent_name,   .min = 1, .flags = F_NULL, .doc = "Only for this agent. Null: for all agents of the workspace."),
    STR(note,         .max = NOTE_MAX, .absent = "\"\"", .doc = "What it is for."),
    TIME(from,        .flags = F_NULL, .doc = "Once: when it begins."),
    TIME(until,       .flags = F_NULL, .doc = "Once: when it ends."),
    LIST_STR(weekdays, .max = 7, .choices = weekday_names, .absent = "[]", .doc = "Each week: the days on which it begins."),
    STR(start,        .max = 5, .flags = F_NULL, .doc = "Each week: the time of day at which it begins, such as 02:30."),
    OPT_INT(minutes,  .flags = F_NULL, .least = 1, .most = WEEKLY_MAX_MINUTES, .doc = "Each week: how long it lasts."),
    STR(time_zone,    .max = ZONE_TEXT_MAX, .absent = "\"UTC\"", .doc = "IANA time zone of weekdays and start."));

SHAPE(maintenance_window, "MaintenanceWindow", (.doc = "A time in which no agent falls silent.",
      .example = EXAMPLE({"window_id": "mwn_0TZbT2mvAoUxE4qsbdVKo", "agent_name": null, "note": "Moving the database", "from": "2026-01-16T20:00:00Z", "until": "2026-01-16T23:00:00Z", "start": null, "minutes": null, "time_zone": null, "active": false, "created_by": "ada@example.com"})),
    STR(window_id,     .flags = F_REQUIRED, .doc = "Identifies the window."),
    STR(agent_name,    .flags = F_REQUIRED | F_NULL, .doc = "Only for this agent. Null: for all agents of the workspace."),
    STR(note,          .flags = F_REQUIRED, .doc = "What it is for."),
    TIME(from,         .flags = F_REQUIRED | F_NULL, .doc = "When it begins. Null: each week."),
    TIME(until,        .flags = F_REQUIRED | F_NULL, .doc = "When it ends. Null: each week."),
    LIST_STR(weekdays, .flags = F_REQUIRED, .choices = weekday_names, .doc = "The days on which it begins. Empty: once."),
    STR(start,         .flags = F_REQUIRED | F_NULL, .doc = "The time of day at which it begins. Null: once."),
    OPT_INT(minutes,   .flags = F_REQUIRED | F_NULL, .doc = "How long it lasts. Null: once."),
    STR(time_zone,     .flags = F_REQUIRED | F_NULL, .doc = "Time zone of weekdays and start. Null: once."),
    BOOL(active,       .flags = F_REQUIRED, .doc = "It is going on now."),
    TIME(created_at,   .flags = F_REQUIRED, .doc = "When it was created."),
    STR(created_by,    .flags = F_REQUIRED, .doc = "Who created it."));

LIST_SHAPE(window_list, "MaintenanceWindowList", (.doc = "All maintenance windows of a workspace.",
      .example = EXAMPLE({})),
    ITEMS("windows", maintenance_window_shape, .flags = F_REQUIRED, .doc = "In the order in which they were created."));

SHAPE(window_path, "MaintenanceWindowPath", (.example = EXAMPLE({"slug": "acme", "window_id": "mwn_0TZbT2mvAoUxE4qsbdVKo"})),
    STR(slug,      .flags = F_REQUIRED, .doc = "Slug of the tenant."),
    STR(window_id, .max = 64, .flags = F_REQUIRED, .doc = "Identifies the window."));
/* clang-format on */

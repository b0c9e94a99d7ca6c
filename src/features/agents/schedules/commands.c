/* commands.c - schedules and maintenance on the command line. */
#include "features/agents/routes.h"
#include "features/agents/schedules/shapes.h"

#define SCHEDULE  "/api/v1/tenants/{tenant}/agents/{name}/schedule"
#define WINDOWS   "/api/v1/tenants/{tenant}/maintenance"
#define AGENT_ARG { "name", OPTION_NAME, "NAME", .help = "name of the agent" }
#define SCHEDULE_LINE                                                                              \
    "agent '{agent_name}' is expected {schedule*{paused?at no time: its schedule is paused|"       \
    "{cron?at {cron} ({time_zone})|every {interval_seconds} s}, grace {grace_seconds} s}}"

/* clang-format off */
const struct command schedule_commands[] = {
    { "agent", "schedule", .args = { AGENT_ARG },
      .options = OPTIONS(TENANT_OPTION,
                         { "every", OPTION_NUMBER, "SECONDS", .field = "interval_seconds", .help = "expect a report each time this many seconds have passed" },
                         { "cron", OPTION_TEXT, "EXPRESSION", .help = "or at these times: minute, hour, day of the month, month, day of the week" },
                         { "time-zone", OPTION_TEXT, "ZONE", .needs = "cron", .help = "time zone of the cron expression, such as Europe/Berlin; without it UTC" },
                         { "grace", OPTION_NUMBER, "SECONDS", .field = "grace_seconds", .help = "how long it may be late; without it half of the time between two reports" },
                         { "paused", OPTION_FLAG, .help = "expect nothing until the schedule is set again" }),
      .help = "set when an agent is expected to report",
      .examples = "muster agent schedule collector --tenant acme --every 3600\n"
                  "muster agent schedule collector --tenant acme --cron '0 8 * * mon-fri' --time-zone Europe/Berlin",
      .method = METHOD_PUT, .path = SCHEDULE, .body = &schedule_set_shape, .needs_change = true,
      .answer = &schedule_state_shape, .line = SCHEDULE_LINE },
    { "agent", "unschedule", .args = { AGENT_ARG }, .options = OPTIONS(TENANT_OPTION),
      .help = "expect an agent as it declares again",
      .examples = "muster agent unschedule collector --tenant acme",
      .method = METHOD_DELETE, .path = SCHEDULE,
      .answer = &schedule_state_shape, .line = SCHEDULE_LINE },
    { "maintenance", "list", .options = OPTIONS(TENANT_OPTION),
      .help = "list a tenant's maintenance windows",
      .examples = "muster maintenance list --tenant acme",
      .method = METHOD_GET, .path = WINDOWS, .answer = &window_list_shape, .list = "windows",
      .columns = COLUMNS({ "ID", .cell = "{window_id}" }, { "NOW", .cell = "{active?yes|no}" },
                         { "WHEN", .cell = "{start?{weekdays*{} }{start} for {minutes} min, {time_zone}|{from} to {until}}" },
                         { "AGENT", .cell = "{agent_name?{agent_name}|all}" }, { "NOTE", .cell = "{note}" }) },
    { "maintenance", "add",
      .options = OPTIONS(TENANT_OPTION,
                         { "agent", OPTION_NAME, .field = "agent_name", .help = "only for this agent; without it all of the tenant" },
                         { "from", OPTION_TIME, .help = "once: when it begins" },
                         { "until", OPTION_TIME, .help = "once: when it ends" },
                         { "weekdays", OPTION_TEXT, "DAY,...", .help = "each week: days on which it begins, such as sat,sun" },
                         { "start", OPTION_TEXT, "HH:MM", .needs = "weekdays", .help = "each week: time of day at which it begins" },
                         { "minutes", OPTION_NUMBER, .needs = "weekdays", .help = "each week: how long it lasts" },
                         { "time-zone", OPTION_TEXT, "ZONE", .needs = "weekdays", .help = "time zone of the days and the time; without it UTC" },
                         { "note", OPTION_TEXT, .help = "what it is for" }),
      .help = "plan a time in which no agent falls silent",
      .examples = "muster maintenance add --tenant acme --from 2026-01-16T20:00:00Z --until 2026-01-16T23:00:00Z\n"
                  "muster maintenance add --tenant acme --weekdays sun --start 02:00 --minutes 120 --time-zone Europe/Berlin",
      .method = METHOD_POST, .path = WINDOWS, .body = &window_create_shape,
      .answer = &maintenance_window_shape, .line = "maintenance window '{window_id}' created" },
    { "maintenance", "delete", .args = { { "id", OPTION_NAME, "ID", .help = "id of the window, as `maintenance list` shows it" } }, .options = OPTIONS(TENANT_OPTION),
      .help = "delete a maintenance window; one that is going on ends now",
      .examples = "muster maintenance delete mwn_0TZbT2mvAoUxE4qsbdVKo --tenant acme",
      .method = METHOD_DELETE, .path = WINDOWS "/{id}",
      .answer = &window_list_shape, .line = "maintenance window '{id}' deleted" },
    { 0 },
};
/* clang-format on */

/* commands.c - how long a tenant's data is kept, on the command line. */
#include "features/retention/retention.h"

#include <string.h>

#include "cli/request.h"
#include "features/access/retention.h"

/* "forever" or a number of days; unchanged when the option is not given. */
static int read_days(const struct invocation *in, const char *name, struct opt_int *limit,
                     struct error *err)
{
    const char *value = command_value(in, name);

    if (value == NULL)
        return 0;
    limit->has = strcmp(value, "forever") != 0;
    if (!limit->has || (str_to_int(str_of(value), &limit->value) && limit->value >= 1 &&
                        limit->value <= RETENTION_DAYS_MAX))
        return 0;
    return err_set(err, ERR_INVALID, "--%s: '%s' is neither 'forever' nor 1 to %d days", name,
                   value, RETENTION_DAYS_MAX);
}

static int read_failed(const struct invocation *in, int64_t *limit, struct error *err)
{
    const char *value = command_value(in, "keep-failed");

    if (value == NULL ||
        (str_to_int(str_of(value), limit) && *limit >= 0 && *limit <= RETENTION_FAILED_MAX))
        return 0;
    return err_set(err, ERR_INVALID, "--keep-failed: '%s' is not a number from 0 to %d", value,
                   RETENTION_FAILED_MAX);
}

static int read_limits(const struct invocation *in, struct retention_limits *limits,
                       struct error *err)
{
    return read_days(in, "events", &limits->events_days, err) != 0 ||
                   read_days(in, "business", &limits->business_days, err) != 0 ||
                   read_days(in, "llm", &limits->llm_days, err) != 0 ||
                   read_failed(in, &limits->keep_failed_runs, err) != 0
               ? -1
               : 0;
}

/* Limits that are not given stay as they are. */
static int retention_set_bind(struct invocation *in, struct str *ret, struct error *err)
{
    struct retention_limits limits = { 0 };
    const char *path = request_path(in).data;

    if (read_limits(in, &limits, err) != 0 ||
        request_get(in, path, &retention_shape, &limits, err) != 0 ||
        read_limits(in, &limits, err) != 0)
        return -1;
    *ret = request_body(in, &retention_shape, &limits);
    return 0;
}

#define RETENTION "/api/v1/tenants/{tenant}/retention"
#define LIMITS_LINE                                                                                \
    "events    {events_days?{events_days} days|forever}\n"                                         \
    "business  {business_days?{business_days} days|forever}\n"                                     \
    "llm       {llm_days?{llm_days} days|forever}\n"                                               \
    "failed    {keep_failed_runs} runs per agent, regardless of age"

/* clang-format off */
const struct command retention_commands[] = {
    { "retention", "show", .options = OPTIONS(TENANT_OPTION),
      .help = "show how long a tenant's data is kept",
      .examples = "muster retention show --tenant acme",
      .method = METHOD_GET, .path = RETENTION, .answer = &retention_shape, .line = LIMITS_LINE },
    { "retention", "set",
      .options = OPTIONS(TENANT_OPTION,
                         { "events", OPTION_TEXT, "DAYS", .help = "days to keep events and runs, or 'forever'" },
                         { "business", OPTION_TEXT, "DAYS", .help = "days to keep business reports, or 'forever'" },
                         { "llm", OPTION_TEXT, "DAYS", .help = "days to keep LLM usage, or 'forever'" },
                         { "keep-failed", OPTION_TEXT, "N", .help = "newest failed runs to keep per agent, regardless of age" }),
      .help = "set after how many days data is deleted; limits not given do not change",
      .examples = "muster retention set --tenant acme --events 90 --keep-failed 20\n"
                  "muster retention set --tenant acme --business 365 --llm forever",
      .method = METHOD_PUT, .path = RETENTION, .bind = retention_set_bind, .needs_change = true,
      .answer = &retention_shape, .line = LIMITS_LINE },
    { 0 },
};
/* clang-format on */

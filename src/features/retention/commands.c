/* commands.c - how long a tenant's data is kept, on the command line. */
#include <stdio.h>
#include <string.h>

#include "cli/ask.h"
#include "cli/command.h"
#include "features/access/retention_shapes.h"

static void say_days(const char *name, struct opt_int days)
{
    if (days.has)
        (void)printf("%-9s %lld days\n", name, (long long)days.value);
    else
        (void)printf("%-9s forever\n", name);
}

/* Sends the request; *ret is what holds then. */
static int ask_limits(struct invocation *in, struct client_request *request,
                      struct client_reply *reply, struct retention_limits *ret, struct error *err)
{
    if (ask_tenant_path(in, command_flag(in, "tenant"), "/retention", &request->path, err) != 0 ||
        ask_send(in, request, reply, err) != 0)
        return -1;
    return command_read(reply, &retention_shape, &in->arena, ret, err);
}

static int say_limits(struct invocation *in, struct client_request *request)
{
    struct retention_limits limits;
    struct client_reply reply;
    struct error err = { 0 };

    if (ask_limits(in, request, &reply, &limits, &err) != 0)
        return command_fail(&err);
    if (in->json)
        return ask_say_json(&reply);
    say_days("events", limits.events_days);
    say_days("business", limits.business_days);
    say_days("llm", limits.llm_days);
    (void)printf("%-9s %lld of each agent, whatever their age\n", "failed",
                 (long long)limits.keep_failed_runs);
    return EXIT_DONE;
}

int run_retention_show(struct invocation *in)
{
    return say_limits(in, &(struct client_request){ .method = METHOD_GET });
}

/* "forever" or a number of days; as it was when the flag is not given. */
static int read_days(const struct invocation *in, const char *name, struct opt_int *limit,
                     struct error *err)
{
    const char *value = command_flag(in, name);

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
    const char *value = command_flag(in, "keep-failed");

    if (value == NULL ||
        (str_to_int(str_of(value), limit) && *limit >= 0 && *limit <= RETENTION_FAILED_MAX))
        return 0;
    return err_set(err, ERR_INVALID, "--keep-failed: '%s' is not a number from 0 to %d", value,
                   RETENTION_FAILED_MAX);
}

static int read_flags(const struct invocation *in, struct retention_limits *limits,
                      struct error *err)
{
    if (in->n_flags < 2) /* one is the tenant */
        return err_set(err, ERR_INVALID,
                       "nothing to change is named: --events, --business, --llm, --keep-failed");
    return read_days(in, "events", &limits->events_days, err) != 0 ||
                   read_days(in, "business", &limits->business_days, err) != 0 ||
                   read_days(in, "llm", &limits->llm_days, err) != 0 ||
                   read_failed(in, &limits->keep_failed_runs, err) != 0
               ? -1
               : 0;
}

/* What is not named stays as it is. */
int run_retention_set(struct invocation *in)
{
    struct client_request get = { .method = METHOD_GET }, put = { .method = METHOD_PUT };
    struct retention_limits limits = { 0 };
    struct client_reply reply;
    struct error err = { 0 };

    if (read_flags(in, &limits, &err) != 0 || ask_limits(in, &get, &reply, &limits, &err) != 0 ||
        read_flags(in, &limits, &err) != 0)
        return command_fail(&err);
    put.body = ask_body(in, &retention_shape, &limits);
    return say_limits(in, &put);
}

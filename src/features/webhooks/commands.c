/* commands.c - webhooks and their deliveries on the command line. */
#include <stdio.h>

#include "base/datetime.h"
#include "cli/ask.h"
#include "cli/command.h"
#include "cli/print.h"
#include "features/webhooks/shapes.h"
#include "shape/shape.h"

/* "/api/v1/tenants/<slug>/webhooks", the id that is given, and what follows. */
static int webhooks_path(struct invocation *in, const char *id, const char *rest, struct str *ret,
                         struct error *err)
{
    struct str path = STR_LIT("/webhooks");

    if (id != NULL)
        path = arena_printf(&in->arena, "/webhooks/%s%s", ask_segment(in, id), rest);
    return ask_tenant_path(in, command_flag(in, "tenant"), path.data, ret, err);
}

/* Sends the request to that path; anything but success is told. */
static int send_to(struct invocation *in, const char *id, const char *rest,
                   struct client_request *request, struct client_reply *ret)
{
    struct error err = { 0 };

    if (webhooks_path(in, id, rest, &request->path, &err) != 0 ||
        ask_send(in, request, ret, &err) != 0)
        return command_fail(&err);
    return EXIT_DONE;
}

static struct list split(struct invocation *in, const char *text)
{
    struct str rest = str_of(text == NULL ? "" : text);
    struct list list = { .items = ARENA_ARRAY(&in->arena, struct str, rest.len + 1) };

    while (rest.len > 0) {
        ((struct str *)list.items)[list.n++] = str_split(&rest, ',');
        if (str_is_null(rest))
            break;
    }
    return list;
}

static int read_format(const char *name, int *ret, struct error *err)
{
    *ret = WEBHOOK_STANDARD;
    for (int i = 0; name != NULL && webhook_format_names[i] != NULL; i++)
        if (strcmp(name, webhook_format_names[i]) == 0) {
            *ret = i;
            return 0;
        }
    if (name == NULL)
        return 0;
    return err_set(err, ERR_INVALID, "--format: '%s' is not one of standard, slack, email", name);
}

int run_webhook_add(struct invocation *in)
{
    const char *label = command_flag(in, "label"), *format = command_flag(in, "format");
    struct webhook_create create = { .url = str_of(in->names[0]),
                                     .label = str_of(label == NULL ? "" : label),
                                     .types = split(in, command_flag(in, "types")) };
    struct client_request request = { .method = METHOD_POST };
    struct client_reply reply;
    struct webhook webhook;
    struct error err = { 0 };
    int status;

    if (format == NULL && strncmp(in->names[0], "mailto:", 7) == 0)
        format = "email";
    if (read_format(format, &create.format, &err) != 0)
        return command_fail(&err);
    request.body = ask_body(in, &webhook_create_shape, &create);
    status = send_to(in, NULL, "", &request, &reply);
    if (status != EXIT_DONE || in->json)
        return status == EXIT_DONE ? ask_say_json(&reply) : status;
    if (command_read(&reply, &webhook_shape, &in->arena, &webhook, &err) != 0)
        return command_fail(&err);
    (void)printf("webhook '%.*s' is made; its secret, shown this once:\n%.*s\n",
                 STR_ARG(webhook.webhook_id), STR_ARG(webhook.secret));
    return EXIT_DONE;
}

int run_webhook_list(struct invocation *in)
{
    struct client_request request = { .method = METHOD_GET };
    const struct webhook *webhooks;
    struct client_reply reply;
    struct webhook_list list;
    struct error err = { 0 };
    int status = send_to(in, NULL, "", &request, &reply);

    if (status != EXIT_DONE || in->json)
        return status == EXIT_DONE ? ask_say_json(&reply) : status;
    if (command_read(&reply, &webhook_list_shape, &in->arena, &list, &err) != 0)
        return command_fail(&err);
    webhooks = list.webhooks.items;
    for (size_t i = 0; i < list.webhooks.n; i++)
        say(stdout, "%-22.*s %-8.*s %-3s waiting %-6lld given up %-6lld %.*s %.*s\n",
            STR_ARG(webhooks[i].webhook_id), STR_ARG(webhooks[i].format),
            webhooks[i].enabled ? "on" : "off", (long long)webhooks[i].waiting,
            (long long)webhooks[i].dead, STR_ARG(webhooks[i].url), STR_ARG(webhooks[i].label));
    return EXIT_DONE;
}

/* A change whose answer people need not see. */
static int change(struct invocation *in, const char *rest, struct client_request *request,
                  const char *said)
{
    struct client_reply reply;
    int status = send_to(in, in->names[0], rest, request, &reply);

    if (status != EXIT_DONE || in->json)
        return status == EXIT_DONE ? ask_say_json(&reply) : status;
    (void)printf("webhook '%s' %s\n", in->names[0], said);
    return EXIT_DONE;
}

int run_webhook_rm(struct invocation *in)
{
    return change(in, "", &(struct client_request){ .method = METHOD_DELETE }, "is removed");
}

static int switch_to(struct invocation *in, bool enabled)
{
    const struct webhook_patch patch = { .enabled = { true, enabled } };
    struct client_request request = { .method = METHOD_PATCH,
                                      .body = ask_body(in, &webhook_patch_shape, &patch) };

    return change(in, "", &request, enabled ? "is switched on" : "is switched off");
}

int run_webhook_enable(struct invocation *in)
{
    return switch_to(in, true);
}

int run_webhook_disable(struct invocation *in)
{
    return switch_to(in, false);
}

int run_webhook_rotate(struct invocation *in)
{
    const struct webhook_patch patch = { .rotate_secret = true };
    struct client_request request = { .method = METHOD_PATCH,
                                      .body = ask_body(in, &webhook_patch_shape, &patch) };
    struct client_reply reply;
    struct webhook webhook;
    struct error err = { 0 };
    int status = send_to(in, in->names[0], "", &request, &reply);

    if (status != EXIT_DONE || in->json)
        return status == EXIT_DONE ? ask_say_json(&reply) : status;
    if (command_read(&reply, &webhook_shape, &in->arena, &webhook, &err) != 0)
        return command_fail(&err);
    (void)printf("%.*s\n", STR_ARG(webhook.secret));
    return EXIT_DONE;
}

int run_webhook_test(struct invocation *in)
{
    struct client_request request = { .method = METHOD_POST };
    struct webhook_tested tested;
    struct client_reply reply;
    struct error err = { 0 };
    int status = send_to(in, in->names[0], "/test", &request, &reply);

    if (status != EXIT_DONE)
        return status;
    if (command_read(&reply, &webhook_tested_shape, &in->arena, &tested, &err) != 0)
        return command_fail(&err);
    if (in->json)
        (void)ask_say_json(&reply);
    else if (tested.delivered)
        (void)printf("delivered in %lld ms\n", (long long)tested.ms);
    else
        say(stderr, "muster: not delivered after %lld ms: %.*s\n", (long long)tested.ms,
            STR_ARG(tested.error));
    return tested.delivered ? EXIT_DONE : EXIT_FAILED;
}

int run_webhook_deliveries(struct invocation *in)
{
    struct client_request request = { .method = METHOD_GET };
    const struct delivery *deliveries;
    char at[DATETIME_TEXT_MAX];
    struct client_reply reply;
    struct delivery_list list;
    struct error err = { 0 };
    int status = send_to(in, in->names[0], "/deliveries", &request, &reply);

    if (status != EXIT_DONE || in->json)
        return status == EXIT_DONE ? ask_say_json(&reply) : status;
    if (command_read(&reply, &delivery_list_shape, &in->arena, &list, &err) != 0)
        return command_fail(&err);
    deliveries = list.deliveries.items;
    for (size_t i = 0; i < list.deliveries.n; i++)
        say(stdout, "%.*s %s %-16.*s %-9.*s attempts %lld %.*s\n",
            STR_ARG(deliveries[i].delivery_id), datetime_format(deliveries[i].created_at, at).data,
            STR_ARG(deliveries[i].type), STR_ARG(deliveries[i].state),
            (long long)deliveries[i].attempts, STR_ARG(deliveries[i].last_error));
    return EXIT_DONE;
}

int run_webhook_retry(struct invocation *in)
{
    struct str rest =
        arena_printf(&in->arena, "/deliveries/%s/retry", ask_segment(in, in->names[1]));

    return change(in, rest.data, &(struct client_request){ .method = METHOD_POST },
                  "is sent it again");
}

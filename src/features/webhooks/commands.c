/* commands.c - webhooks and their deliveries on the command line. */
#include <stdio.h>
#include <string.h>

#include "cli/print.h"
#include "cli/request.h"
#include "features/webhooks/shapes.h"
#include "features/webhooks/webhooks.h"

/* What mailto: leads to is sent as e-mail, without saying so. */
static int webhook_add_bind(struct invocation *in, struct str *ret, struct error *err)
{
    static const struct option format = { .name = "format" };

    (void)err;
    if (command_value(in, "format") == NULL && strncmp(command_value(in, "url"), "mailto:", 7) == 0)
        in->given[in->n_given++] = (struct given){ &format, "email" };
    *ret = request_bind(in, &webhook_create_shape);
    return 0;
}

/* A delivery that failed is a command that failed. */
static int webhook_test_run(struct invocation *in)
{
    struct client_request request;
    struct webhook_tested tested;
    struct client_reply reply;
    struct error err = { 0 };

    if (request_make(in, &request, &err) != 0 || request_send(in, &request, &reply, &err) != 0 ||
        request_read(&reply, &webhook_tested_shape, &in->arena, &tested, &err) != 0)
        return command_fail(&err);
    if (in->json)
        (void)printf("%.*s\n", STR_ARG(reply.body));
    else if (tested.delivered)
        (void)printf("delivered in %lld ms\n", (long long)tested.ms);
    else
        say(stderr, "muster: not delivered after %lld ms: %.*s\n", (long long)tested.ms,
            STR_ARG(tested.error));
    return tested.delivered ? EXIT_DONE : EXIT_FAILED;
}

#define WEBHOOKS "/api/v1/tenants/{tenant}/webhooks"
#define WEBHOOK  WEBHOOKS "/{id}"
#define WEBHOOK_ARG                                                                                \
    { "id", OPTION_NAME, "ID", .help = "id of the webhook, as `webhook list` shows it" }

/* clang-format off */
const struct command webhook_commands[] = {
    { "webhook", "add", .args = { { "url", OPTION_TEXT, "URL", .help = "https://... or mailto:..." } },
      .options = OPTIONS(TENANT_OPTION,
                         { "format", OPTION_WORD, "standard|slack|email|teams|discord|pagerduty|alertmanager", .help = "form of the messages; without it email for mailto:, else standard" },
                         { "types", OPTION_TEXT, "TYPE,...", .help = "message types to send, such as agent.silent,run.failed; without it all but agent.failing and agent.healthy" },
                         { "label", OPTION_TEXT, .help = "note shown in lists" }),
      .help = "create a webhook and print its secret, which is shown only once",
      .examples = "muster webhook add https://hooks.example.com/muster --tenant acme --format slack --types agent.silent,agent.recovered\n"
                  "muster webhook add mailto:ops@example.com --tenant acme",
      .method = METHOD_POST, .path = WEBHOOKS, .bind = webhook_add_bind,
      .answer = &webhook_shape, .line = "webhook '{webhook_id}' created; its secret, shown only once:\n{secret}{warning?\nwarning: {warning}|}" },
    { "webhook", "list", .options = OPTIONS(TENANT_OPTION),
      .help = "list a tenant's webhooks",
      .examples = "muster webhook list --tenant acme",
      .method = METHOD_GET, .path = WEBHOOKS, .answer = &webhook_list_shape, .list = "webhooks",
      .columns = COLUMNS({ "ID", .cell = "{webhook_id}" }, { "FORMAT", .cell = "{format}" }, { "ENABLED", .cell = "{enabled?yes|no}" },
                         { "PENDING", .cell = "{waiting}" }, { "FAILED", .cell = "{dead}" }, { "URL", .cell = "{url}" }, { "LABEL", .cell = "{label}" }) },
    { "webhook", "delete", .args = { WEBHOOK_ARG }, .options = OPTIONS(TENANT_OPTION),
      .help = "delete a webhook and its deliveries",
      .examples = "muster webhook delete whk_8hJk2LmN4pQr6StU --tenant acme",
      .method = METHOD_DELETE, .path = WEBHOOK, .line = "webhook '{id}' deleted" },
    { "webhook", "enable", .args = { WEBHOOK_ARG }, .options = OPTIONS(TENANT_OPTION),
      .help = "send to a webhook again",
      .examples = "muster webhook enable whk_8hJk2LmN4pQr6StU --tenant acme",
      .method = METHOD_PATCH, .path = WEBHOOK, .body_text = "{\"enabled\":true}",
      .line = "webhook '{id}' enabled" },
    { "webhook", "disable", .args = { WEBHOOK_ARG }, .options = OPTIONS(TENANT_OPTION),
      .help = "stop sending to a webhook and drop its pending deliveries",
      .examples = "muster webhook disable whk_8hJk2LmN4pQr6StU --tenant acme",
      .method = METHOD_PATCH, .path = WEBHOOK, .body_text = "{\"enabled\":false}",
      .line = "webhook '{id}' disabled" },
    { "webhook", "rotate", .args = { WEBHOOK_ARG }, .options = OPTIONS(TENANT_OPTION),
      .help = "create a new secret and print it; the old one also signs for a day, unless it is rotated again",
      .examples = "muster webhook rotate whk_8hJk2LmN4pQr6StU --tenant acme",
      .method = METHOD_PATCH, .path = WEBHOOK, .body_text = "{\"rotate_secret\":true}",
      .answer = &webhook_shape, .line = "{secret}" },
    { "webhook", "test", .args = { WEBHOOK_ARG }, .options = OPTIONS(TENANT_OPTION),
      .help = "send a test message now and report the result",
      .examples = "muster webhook test whk_8hJk2LmN4pQr6StU --tenant acme",
      .method = METHOD_POST, .path = WEBHOOK "/test", .run = webhook_test_run },
    { "webhook", "deliveries", .args = { WEBHOOK_ARG }, .options = OPTIONS(TENANT_OPTION),
      .help = "list a webhook's deliveries, newest first",
      .examples = "muster webhook deliveries whk_8hJk2LmN4pQr6StU --tenant acme",
      .method = METHOD_GET, .path = WEBHOOK "/deliveries", .answer = &delivery_list_shape, .list = "deliveries",
      .columns = COLUMNS({ "ID", .cell = "{delivery_id}" }, { "CREATED", .cell = "{created_at}" }, { "TYPE", .cell = "{type}" }, { "STATE", .cell = "{state}" },
                         { "ATTEMPTS", .cell = "{attempts}" }, { "LAST ERROR", .cell = "{last_error}" }) },
    { "webhook", "retry", .args = { WEBHOOK_ARG, { "delivery", OPTION_NAME, "DELIVERY", .help = "id of the delivery, as `webhook deliveries` shows it" } },
      .options = OPTIONS(TENANT_OPTION),
      .help = "retry a delivery now",
      .examples = "muster webhook retry whk_8hJk2LmN4pQr6StU dlv_0TZbT2mvAoUxE4qsbdVKo --tenant acme",
      .method = METHOD_POST, .path = WEBHOOK "/deliveries/{delivery}/retry",
      .line = "delivery queued again for webhook '{id}'" },
    { 0 },
};
/* clang-format on */

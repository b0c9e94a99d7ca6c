/* commands.c - what agents are told, on the command line. */
#include <stdio.h>

#include "cli/ask.h"
#include "cli/command.h"
#include "cli/print.h"
#include "features/agents/directives/shapes.h"
#include "shape/shape.h"

/* The place that --tenant and --agent name, and what is set there: "model", "command-policy". */
static int directives_path(struct invocation *in, const char *what, struct str *ret,
                           struct error *err)
{
    const char *tenant = command_flag(in, "tenant"), *agent = command_flag(in, "agent");
    struct str rest = arena_printf(&in->arena, "/%s", what);

    if (tenant == NULL && agent != NULL)
        return err_set(err, ERR_INVALID, "--agent NAME needs --tenant SLUG");
    if (tenant == NULL) {
        *ret = arena_printf(&in->arena, "/api/v1/platform/%s", what);
        return 0;
    }
    if (agent != NULL && agent[0] == '\0')
        return err_set(err, ERR_INVALID, "--agent: a name is missing");
    if (agent != NULL)
        rest = arena_printf(&in->arena, "/agents/%s/%s", ask_segment(in, agent), what);
    return ask_tenant_path(in, tenant, rest.data, ret, err);
}

/* Sends the request and says, for people, which model holds then. */
static int do_model(struct invocation *in, struct client_request *request)
{
    struct model_setting setting;
    struct client_reply reply;
    struct error err = { 0 };

    if (directives_path(in, "model", &request->path, &err) != 0 ||
        ask_send(in, request, &reply, &err) != 0)
        return command_fail(&err);
    if (in->json)
        return ask_say_json(&reply);
    if (command_read(&reply, &model_setting_shape, &in->arena, &setting, &err) != 0)
        return command_fail(&err);
    if (str_is_null(setting.model))
        (void)printf("no model is set\n");
    else
        say(stdout, "%.*s (set for the %.*s)\n", STR_ARG(setting.model), STR_ARG(setting.source));
    return EXIT_DONE;
}

int run_model_set(struct invocation *in)
{
    const struct model_set set = { str_of(in->names[0]) };
    struct client_request request = { .method = METHOD_PUT,
                                      .body = ask_body(in, &model_set_shape, &set) };

    return do_model(in, &request);
}

int run_model_unset(struct invocation *in)
{
    return do_model(in, &(struct client_request){ .method = METHOD_DELETE });
}

int run_model_show(struct invocation *in)
{
    return do_model(in, &(struct client_request){ .method = METHOD_GET });
}

static void say_commands(const char *word, const struct list *list)
{
    const struct str *commands_listed = list->items;

    for (size_t i = 0; i < list->n; i++)
        say(stdout, "%-5s %.*s\n", word, STR_ARG(commands_listed[i]));
}

/* Sends the request and says, for people, which policy holds then. */
static int do_policy(struct invocation *in, struct client_request *request)
{
    struct policy_setting setting;
    struct client_reply reply;
    struct error err = { 0 };

    if (directives_path(in, "command-policy", &request->path, &err) != 0 ||
        ask_send(in, request, &reply, &err) != 0)
        return command_fail(&err);
    if (in->json)
        return ask_say_json(&reply);
    if (command_read(&reply, &policy_setting_shape, &in->arena, &setting, &err) != 0)
        return command_fail(&err);
    if (setting.version == 0)
        (void)printf("%.*s (no policy is set)\n", STR_ARG(setting.mode));
    else
        (void)printf("%.*s (set for the %.*s, version %lld)\n", STR_ARG(setting.mode),
                     STR_ARG(setting.source), (long long)setting.version);
    say_commands("allow", &setting.allow);
    say_commands("deny", &setting.deny);
    return EXIT_DONE;
}

int run_policy_set(struct invocation *in)
{
    struct client_request request = { .method = METHOD_PUT };
    struct error err = { 0 };

    if (ask_file(in, in->names[0], MIB(1), &request.body, &err) != 0)
        return command_fail(&err);
    return do_policy(in, &request);
}

int run_policy_unset(struct invocation *in)
{
    return do_policy(in, &(struct client_request){ .method = METHOD_DELETE });
}

int run_policy_show(struct invocation *in)
{
    return do_policy(in, &(struct client_request){ .method = METHOD_GET });
}

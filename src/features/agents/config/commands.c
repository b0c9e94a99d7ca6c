/* commands.c - configuration values and the security catalog on the command line. */
#include <stdio.h>

#include "cli/ask.h"
#include "cli/command.h"
#include "cli/print.h"
#include "features/agents/config/shapes.h"

/* "…/values" of the workspace or of --agent, and what follows. */
static int values_path(struct invocation *in, const char *key, struct str *ret, struct error *err)
{
    const char *agent = command_flag(in, "agent");
    struct str rest = STR_LIT("/values");

    if (agent != NULL && agent[0] == '\0')
        return err_set(err, ERR_INVALID, "--agent: a name is missing");
    if (key != NULL && key[0] == '\0')
        return err_set(err, ERR_INVALID, "the key of a parameter is not empty");
    if (agent != NULL)
        rest = arena_printf(&in->arena, "/agents/%s/values", ask_segment(in, agent));
    if (key != NULL)
        rest = arena_printf(&in->arena, "%s/%s", rest.data, ask_segment(in, key));
    return ask_tenant_path(in, command_flag(in, "tenant"), rest.data, ret, err);
}

static void say_value(const struct config_value *value)
{
    say(stdout, "%-32.*s ", STR_ARG(value->key));
    if (value->hidden)
        (void)printf("(hidden)");
    else if (str_is_null(value->value))
        (void)printf("(no value)");
    else
        say(stdout, "%.*s", STR_ARG(value->value));
    if (!str_is_null(value->source))
        (void)printf("  [%.*s]", STR_ARG(value->source));
    (void)printf("%s\n", value->required && str_is_null(value->source) ? "  required" : "");
}

/* Sends the request and says what holds then. */
static int change(struct invocation *in, struct client_request *request)
{
    struct config_value value;
    struct client_reply reply;
    struct error err = { 0 };

    if (values_path(in, in->names[0], &request->path, &err) != 0 ||
        ask_send(in, request, &reply, &err) != 0)
        return command_fail(&err);
    if (in->json)
        return ask_say_json(&reply);
    if (command_read(&reply, &config_value_shape, &in->arena, &value, &err) != 0)
        return command_fail(&err);
    say_value(&value);
    return EXIT_DONE;
}

int run_value_set(struct invocation *in)
{
    const struct value_set set = { str_of(in->names[1]) };
    struct client_request request = { .method = METHOD_PUT,
                                      .body = ask_body(in, &value_set_shape, &set) };

    return change(in, &request);
}

int run_value_rm(struct invocation *in)
{
    return change(in, &(struct client_request){ .method = METHOD_DELETE });
}

int run_value_list(struct invocation *in)
{
    struct client_request request = { .method = METHOD_GET };
    struct config_values list;
    struct client_reply reply;
    struct error err = { 0 };

    if (values_path(in, NULL, &request.path, &err) != 0 ||
        ask_send(in, &request, &reply, &err) != 0)
        return command_fail(&err);
    if (in->json)
        return ask_say_json(&reply);
    if (command_read(&reply, &config_values_shape, &in->arena, &list, &err) != 0)
        return command_fail(&err);
    for (size_t i = 0; i < list.values.n; i++)
        say_value((const struct config_value *)list.values.items + i);
    return EXIT_DONE;
}

static void say_parameter(const struct catalog_parameter *p)
{
    say(stdout, "%-32.*s %-10s edit %-7.*s see %.*s\n", STR_ARG(p->key),
        p->secret ? "secret" : "not secret", STR_ARG(p->edit), STR_ARG(p->see));
}

/* A key as a value in a query. */
static const char *after_of(struct invocation *in, struct str key)
{
    return str_is_null(key)
               ? ""
               : arena_printf(&in->arena, "&after=%s", ask_segment(in, arena_cstr(&in->arena, key)))
                     .data;
}

int run_catalog_list(struct invocation *in)
{
    struct client_request request = { .method = METHOD_GET };
    struct catalog_list list = { .next = STR_NULL };
    struct client_reply reply;
    struct error err = { 0 };

    do {
        struct str rest =
            arena_printf(&in->arena, "/catalog?limit=1000%s", after_of(in, list.next));

        if (ask_tenant_path(in, command_flag(in, "tenant"), rest.data, &request.path, &err) != 0 ||
            ask_send(in, &request, &reply, &err) != 0)
            return command_fail(&err);
        if (in->json)
            return ask_say_json(&reply);
        if (command_read(&reply, &catalog_list_shape, &in->arena, &list, &err) != 0)
            return command_fail(&err);
        for (size_t i = 0; i < list.parameters.n; i++)
            say_parameter((const struct catalog_parameter *)list.parameters.items + i);
    } while (!str_is_null(list.next));
    return EXIT_DONE;
}

/* One of the words that a flag takes; -1 when it is not given. */
static int flag_word(struct invocation *in, const char *flag, const char *const *words, int *ret,
                     struct error *err)
{
    const char *given = command_flag(in, flag);

    *ret = -1;
    for (int i = 0; given != NULL && words[i] != NULL; i++)
        if (strcmp(given, words[i]) == 0)
            *ret = i;
    if (given != NULL && *ret < 0)
        return err_set(err, ERR_INVALID, "--%s does not take '%s'", flag, given);
    return 0;
}

int run_catalog_set(struct invocation *in)
{
    static const char *const answers[] = { "no", "yes", NULL };
    struct client_request request = { .method = METHOD_PATCH };
    struct catalog_parameter parameter;
    struct catalog_patch patch = { 0 };
    struct client_reply reply;
    struct error err = { 0 };
    int secret;

    if (flag_word(in, "secret", answers, &secret, &err) != 0 ||
        flag_word(in, "edit", catalog_edit_names, &patch.edit, &err) != 0 ||
        flag_word(in, "see", catalog_see_names, &patch.see, &err) != 0)
        return command_fail(&err);
    patch.secret = (struct opt_bool){ secret >= 0, secret == 1 };
    request.body = ask_body(in, &catalog_patch_shape, &patch);
    if (ask_tenant_path(in, command_flag(in, "tenant"),
                        arena_printf(&in->arena, "/catalog/%s", ask_segment(in, in->names[0])).data,
                        &request.path, &err) != 0 ||
        ask_send(in, &request, &reply, &err) != 0)
        return command_fail(&err);
    if (in->json)
        return ask_say_json(&reply);
    if (command_read(&reply, &catalog_parameter_shape, &in->arena, &parameter, &err) != 0)
        return command_fail(&err);
    say_parameter(&parameter);
    return EXIT_DONE;
}

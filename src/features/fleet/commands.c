/* commands.c - agents on the command line. */
#include <stdio.h>

#include "base/clock.h"
#include "cli/ask.h"
#include "cli/command.h"
#include "cli/print.h"
#include "features/fleet/shapes.h"
#include "shape/shape.h"

enum { RELATIVE_MAX = 32 };

/* "5m ago": in the largest unit that there is at least one of. */
static const char *how_long_ago(int64_t at, int64_t now, char text[RELATIVE_MAX])
{
    static const struct {
        int64_t seconds;
        char unit;
    } units[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' }, { 1, 's' } };
    int64_t age_s;

    if (at == TIME_NULL)
        return "never";
    age_s = (now - at) / USEC_PER_SEC;
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (age_s >= units[i].seconds) {
            (void)snprintf(text, RELATIVE_MAX, "%lld%c ago", (long long)(age_s / units[i].seconds),
                           units[i].unit);
            return text;
        }
    return "now";
}

static void say_agents(const struct agent_list *page)
{
    const struct agent_listed *agents = page->agents.items;
    int64_t now = clock_wall_us();
    char text[RELATIVE_MAX];

    for (size_t i = 0; i < page->agents.n; i++)
        say(stdout, "%-9.*s %-10s %.*s\n", STR_ARG(agents[i].state),
            how_long_ago(agents[i].last_seen_at, now, text), STR_ARG(agents[i].agent_name));
}

/* The page after `cursor`, as a query. */
static const char *page_path(struct invocation *in, struct str cursor)
{
    if (str_is_null(cursor))
        return "/agents?limit=1000";
    return arena_printf(&in->arena, "/agents?limit=1000&cursor=%s",
                        ask_segment(in, arena_cstr(&in->arena, cursor)))
        .data;
}

/* As programs read it: a page is a line. */
int run_agent_list(struct invocation *in)
{
    struct agent_list page = { 0 };
    struct client_reply reply;
    struct error err = { 0 };

    do {
        struct client_request request = { .method = METHOD_GET };

        if (ask_tenant_path(in, command_flag(in, "tenant"), page_path(in, page.next), &request.path,
                            &err) != 0 ||
            ask_send(in, &request, &reply, &err) != 0 ||
            command_read(&reply, &agent_list_shape, &in->arena, &page, &err) != 0)
            return command_fail(&err);
        if (in->json)
            (void)ask_say_json(&reply);
        else
            say_agents(&page);
    } while (!str_is_null(page.next));
    return EXIT_DONE;
}

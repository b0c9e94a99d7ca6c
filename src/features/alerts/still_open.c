/* still_open.c - the sentences about alerts that stay open. */
#include "features/alerts/still_open.h"

#include "base/datetime.h"
#include "features/alerts/store.h"
#include "shape/utf8.h"

enum { NAME_BYTES = 200 }; /* of a name in a sentence */

/* What is beyond its limit, by the type of the alert. */
static const char *limited_by(struct str type)
{
    static const struct {
        const char *type, *what;
    } things[] = {
        { "budget.exceeded", "LLM cost is still over its budget" },
        { "budget.forecast", "The forecast of LLM cost is still over its budget" },
        { "failure_rate.exceeded", "The share of failed runs is still over its limit" },
        { "duration.exceeded", "The duration of runs is still over its limit" },
    };

    for (size_t i = 0; i < COUNT_OF(things); i++)
        if (str_eq_c(type, things[i].type))
            return things[i].what;
    return "A KPI is still beyond its limit";
}

struct str still_open_text(const struct alert_row *row, struct arena *arena)
{
    const struct str name = utf8_cut(row->agent_name, NAME_BYTES);
    struct str whose = STR_LIT("");
    char since[DATETIME_TEXT_MAX];

    (void)datetime_format_second(row->since_at, since);
    if (str_eq_c(row->type, "agent.silent"))
        return arena_printf(arena, "Agent '%.*s' is still silent: last seen %s", STR_ARG(name),
                            since);
    if (str_eq_c(row->type, "agent.failing"))
        return arena_printf(arena, "Agent '%.*s' is still failing since %s", STR_ARG(name), since);
    if (str_eq_c(row->type, "run.stuck"))
        return arena_printf(arena, "Run %.*s of agent '%.*s' is still open: started %s",
                            STR_ARG(row->subject), STR_ARG(name), since);
    if (!str_is_null(row->agent_name))
        whose = arena_printf(arena, " for agent '%.*s'", STR_ARG(name));
    return arena_printf(arena, "%s%.*s since %s", limited_by(row->type), STR_ARG(whose), since);
}

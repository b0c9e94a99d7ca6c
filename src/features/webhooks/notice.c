/* notice.c - reads a message's data, and adds what its type means. */
#include "features/webhooks/notice.h"

#include "base/buf.h"
#include "features/webhooks/deliveries_store.h"
#include "shape/problems.h"
#include "shape/table.h"

/* What a type of message means, and the type that reports its end. Both have its name and severity.
 */
static const struct meaning {
    const char *type, *end; /* NULL: it does not last */
    const char *name, *severity, *next_step, *end_step;
} meanings[] = {
    { "agent.silent", "agent.recovered", "AgentSilent", "error",
      "Check that the agent's process runs and can reach this service.",
      "Nothing to do: it reports again." },
    { "run.failed", NULL, "RunFailed", "error",
      "Open the run to see its steps and its error, fix the cause, and run it again.", NULL },
    { "run.stuck", "run.recovered", "RunStuck", "warning",
      "Look at the run's last step. If its process is gone, start it again: this service closes no "
      "run by itself.",
      NULL },
    { "kpi.crossed", "kpi.recovered", "KpiCrossed", "warning",
      "Look at the KPI's history, and at the runs of that time.", NULL },
    { "budget.exceeded", "budget.recovered", "BudgetExceeded", "warning",
      "See which agents and models cost most; choose a cheaper model or raise the budget.", NULL },
    { "budget.forecast", "budget.on_track", "BudgetForecast", "warning",
      "See which agents and models cost most, while there is time to choose a cheaper model or "
      "raise the budget.",
      NULL },
    { "agent.failing", "agent.healthy", "AgentFailing", "error",
      "Open the agent's failed runs: what they have in common is the cause.",
      "Nothing to do: its runs complete again." },
    { "failure_rate.exceeded", "failure_rate.recovered", "FailureRateExceeded", "error",
      "See which agents and errors make up most of the failed runs.", NULL },
    { "duration.exceeded", "duration.recovered", "DurationExceeded", "warning",
      "Compare a slow run with an earlier one, step by step.", NULL },
};
static const struct meaning other = {
    "test", NULL, "Test", "info", "Nothing to do: this is a test.", NULL
};

static const struct meaning *meaning_of(struct str type, bool *ret_ended)
{
    for (size_t i = 0; i < COUNT_OF(meanings); i++) {
        *ret_ended = meanings[i].end != NULL && str_eq_c(type, meanings[i].end);
        if (*ret_ended || str_eq_c(type, meanings[i].type))
            return &meanings[i];
    }
    return &other;
}

static const char *next_step_of(const struct meaning *meaning, bool ended)
{
    if (!ended)
        return meaning->next_step;
    return meaning->end_step != NULL ? meaning->end_step : "Nothing to do: it is over.";
}

/* The parts of a message's data that are read again. */
struct data_detail {
    struct str error_type, error_message;
};

struct data {
    struct str summary, alert_id, agent_name, run_id;
    int64_t opened_at, closed_at;
    struct data_detail *detail;
};

/* clang-format off */
STATIC_SHAPE(data_detail, "MessageDetail", (),
    STR(error_type,    .flags = F_NULL),
    STR(error_message, .flags = F_NULL));

STATIC_SHAPE(data, "MessageData", (),
    STR(summary,     .flags = F_NULL),
    STR(alert_id,    .flags = F_NULL),
    STR(agent_name,  .flags = F_NULL),
    STR(run_id,      .flags = F_NULL),
    TIME(opened_at,  .flags = F_NULL),
    TIME(closed_at,  .flags = F_NULL),
    NESTED(detail, struct data_detail, data_detail_shape, .flags = F_NULL));
/* clang-format on */

static struct str error_of(const struct data_detail *detail, struct arena *arena)
{
    struct str type, text;

    if (detail == NULL)
        return STR_NULL;
    type = utf8_cut(detail->error_type, NOTICE_NAME_MAX);
    text = detail->error_message;
    if (type.len == 0 && text.len == 0)
        return STR_NULL;
    if (type.len > 0 && text.len > 0)
        text = arena_printf(arena, "%.*s: %.*s", STR_ARG(type), STR_ARG(text));
    else if (type.len > 0)
        text = type;
    return utf8_cut(text, NOTICE_TEXT_MAX);
}

/* The page of the portal that shows it. */
static void add_page(struct buf *out, const struct notice *n)
{
    if (!str_is_null(n->run_id)) {
        buf_add_c(out, "runs/");
        buf_add_percent(out, n->run_id);
    } else if (str_eq_c(n->name, "BudgetExceeded")) {
        buf_add_c(out, "cost");
    } else if (!str_is_null(n->agent_name)) {
        buf_add_c(out, "agents/");
        buf_add_percent(out, n->agent_name);
    } else {
        buf_add_c(out, "alerts");
    }
}

static struct str link_of(const struct notice *n, const struct notice_place *place,
                          struct arena *arena)
{
    struct str base = place->public_url == NULL ? STR_NULL : str_of(place->public_url);
    BUF_SCOPED(out, NOTICE_LINK_MAX);

    while (base.len > 0 && base.data[base.len - 1] == '/')
        base.len--;
    if (base.len == 0)
        return STR_NULL;
    buf_printf(&out, "%.*s/#/t/%.*s/", STR_ARG(base), STR_ARG(place->workspace));
    add_page(&out, n);
    return out.overflown ? STR_NULL : arena_copy(arena, buf_str(&out));
}

struct notice notice_of(const struct message_row *message, const struct notice_place *place,
                        struct arena *arena)
{
    bool ended;
    const struct meaning *meaning = meaning_of(message->type, &ended);
    struct data data = { .opened_at = TIME_NULL, .closed_at = TIME_NULL };
    struct notice n;

    if (shape_read_json(&data_shape, message->data, arena, &data, problems_new(arena, "body")) != 0)
        data = (struct data){ .opened_at = TIME_NULL, .closed_at = TIME_NULL };
    n = (struct notice){
        .message = message,
        .workspace = place->workspace,
        .summary = data.summary.len > 0 ? utf8_cut(data.summary, NOTICE_TEXT_MAX) : message->type,
        .run_id = data.run_id,
        .alert_id = data.alert_id,
        .error = error_of(data.detail, arena),
        .name = str_of(meaning->name),
        .severity = str_of(meaning->severity),
        .next_step = str_of(next_step_of(meaning, ended)),
        .recovered = ended,
        .lasts = !ended && meaning->end != NULL,
        .opened_at = data.opened_at == TIME_NULL ? message->created_at : data.opened_at,
        .closed_at = data.closed_at,
    };
    n.agent_name = data.agent_name;
    n.link = link_of(&n, place, arena); /* leads to the whole name */
    if (!str_is_null(n.agent_name))
        n.agent_name = utf8_cut(n.agent_name, NOTICE_NAME_MAX);
    return n;
}

size_t notice_facts(const struct notice *notice, struct notice_fact ret[NOTICE_FACTS_MAX])
{
    const struct notice_fact facts[NOTICE_FACTS_MAX] = { { "Workspace", notice->workspace },
                                                         { "Agent", notice->agent_name },
                                                         { "Run", notice->run_id },
                                                         { "Error", notice->error } };
    size_t n = 0;

    for (size_t i = 0; i < NOTICE_FACTS_MAX; i++)
        if (facts[i].text.len > 0)
            ret[n++] = facts[i];
    return n;
}

/* due_messages.c - sends messages of open alerts that have become due.
 *
 * An alert that opens while its agent is muted sends no message: it is due when the mute ends. The
 * message of an alert that stays open and is not acknowledged is due again where the tenant wants
 * reminders. Several processes may look for both; the one whose statement takes effect sends the
 * message.
 */
#include "base/clock.h"
#include "base/datetime.h"
#include "base/digest.h"
#include "features/alerts/alerts.h"
#include "features/alerts/store.h"
#include "features/alerts/watch.h"

enum {
    SENT_MAX = 100,   /* alerts per transaction */
    NAME_BYTES = 200, /* of a name in a sentence */
};

struct due_messages {
    struct watching w;
    int64_t now_us; /* wall clock, for the job */
};

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

/* A sentence without a full stop, in the arena. */
static struct str still_open_text(const struct alert_row *row, struct arena *arena)
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

/* Unless another process repeated it since. */
static int send_reminder(struct db *db, const struct alert_notice *notice, int64_t now_us,
                         struct arena *arena, struct error *err)
{
    struct alert_row *row = notice->row;
    const struct alert_entry_row entry = { row->tenant_id,
                                           row->alert_id,
                                           { .entry_id = digest_time_id("ale_", now_us, arena),
                                             .at = now_us,
                                             .what = STR_LIT("reminded") } };
    const int64_t before = row->reminded_at == TIME_NULL ? row->opened_at : row->reminded_at;
    bool first;

    if (alert_store_remind(db, &entry, before, &first, err) != 0 ||
        (first && alert_store_history_remind(db, &entry, err) != 0))
        return -1;
    row->reminded_at = now_us;
    return first ? alerts_remind(db, notice, now_us, err) : 0;
}

static int send_all(struct db *db, const struct list *list, int64_t now_us, struct error *err)
{
    ARENA_SCOPED(arena); /* of one alert */
    int r = 0;

    for (size_t i = 0; i < list->n && r == 0; i++) {
        struct alert_row *row = &((struct alert_row *)list->items)[i];
        const struct alert_notice notice = { .row = row,
                                             .message = row->type,
                                             .summary = still_open_text(row, &arena) };

        r = row->notified ? send_reminder(db, &notice, now_us, &arena, err)
                          : alerts_notify_unmuted(db, &notice, now_us, err);
        arena_reset(&arena);
    }
    return r;
}

/* Alerts whose mute has ended, and alerts whose message is repeated. */
struct due {
    struct list unmuted, repeated;
};

static int find_due(struct db *db, int64_t now_us, int64_t limit, struct arena *arena,
                    struct due *ret, struct error *err)
{
    if (alert_store_unnotified(db, now_us, limit, arena, &ret->unmuted, err) != 0)
        return -1;
    return alert_store_to_remind(db, now_us, limit, arena, &ret->repeated, err);
}

static int due_messages_find(struct watching *w, const struct tick *now, struct error *err)
{
    struct due_messages *m = CONTAINER_OF(w, struct due_messages, w);
    struct due due;

    m->now_us = now->wall_us;
    if (find_due(w->env.db, m->now_us, 1, &w->arena, &due, err) != 0)
        return -1;
    w->job.events = due.unmuted.n + due.repeated.n;
    return 0;
}

/* Reads the alerts again: they may have changed since the tick. */
static int due_messages_apply(struct watching *w, struct txn *txn, struct error *err)
{
    struct due_messages *m = CONTAINER_OF(w, struct due_messages, w);
    ARENA_SCOPED(arena);
    struct due due;

    if (find_due(txn->db, m->now_us, SENT_MAX, &arena, &due, err) != 0 ||
        send_all(txn->db, &due.unmuted, m->now_us, err) != 0)
        return -1;
    return send_all(txn->db, &due.repeated, m->now_us, err);
}

const struct watch due_messages_watch = {
    .name = "repeated messages",
    .size = sizeof(struct due_messages),
    .period_s = 5,
    .find = due_messages_find,
    .apply = due_messages_apply,
};

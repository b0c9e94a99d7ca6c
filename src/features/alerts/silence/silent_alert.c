/* silent_alert.c - what an alert about a silent agent says, and why it was closed. */
#include "features/alerts/silence/silent_alert.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "engine/txn.h"
#include "features/agents/agent_cache.h"
#include "features/alerts/alerts.h"
#include "features/alerts/silence/watched.h"

enum { NAME_BYTES = 200 }; /* of a name in a sentence */

static struct str detail_of(const struct watched *w, int64_t seen_at, struct arena *arena)
{
    long long grace = (long long)(schedule_grace_us(&w->schedule, seen_at) / USEC_PER_SEC);
    BUF_SCOPED(out, SIZE_MAX); /* bounded: a stored schedule */

    if (w->schedule.kind == SCHEDULE_INTERVAL)
        return arena_printf(arena, "{\"interval_seconds\":%lld,\"grace_seconds\":%lld}",
                            (long long)watched_limit(w), grace);
    buf_add_c(&out, "{\"cron\":");
    buf_add_json(&out, w->row.schedule.cron);
    buf_add_c(&out, ",\"time_zone\":");
    buf_add_json(&out, w->row.schedule.time_zone);
    buf_printf(&out, ",\"grace_seconds\":%lld}", grace);
    return buf_take(&out, arena);
}

int silent_alert_open(struct db *db, const struct watched *w, const struct silent_change *change,
                      struct arena *arena, struct error *err)
{
    const struct silence_row *row = &w->row;
    struct str name = utf8_cut(row->agent_name, NAME_BYTES);
    struct alert_row alert = { .tenant_id = row->tenant_id,
                               .type = STR_LIT("agent.silent"),
                               .agent_id = row->agent_id,
                               .agent_name = row->agent_name,
                               .subject = STR_LIT(""),
                               .since_at = row->last_seen_at,
                               .opened_at = change->at,
                               .limit_seconds = { true, watched_limit(w) },
                               .detail = detail_of(w, row->last_seen_at, arena) };
    char text[DATETIME_TEXT_MAX];
    const struct alert_notice notice = {
        &alert, alert.type,
        arena_printf(arena, "Agent '%.*s' is silent: last seen %s", STR_ARG(name),
                     datetime_format_second(row->last_seen_at, text).data),
        change->notes
    };
    bool opened;

    return alerts_open(db, &notice, &opened, err);
}

/* The alert's closed_by. */
static struct str close_reason(const struct silence_row *row, int64_t since_at, int64_t now)
{
    if (row->deleted)
        return STR_LIT("deleted");
    if (!row->enabled)
        return STR_LIT("disabled");
    if (row->last_seen_at != TIME_NULL && sighting_is_later(row->last_seen_at, since_at, now))
        return STR_LIT("seen");
    if (row->schedule.paused)
        return STR_LIT("paused");
    return row->schedule.scheduled_at == TIME_NULL ? STR_LIT("interval") : STR_LIT("schedule");
}

/* How long the agent was silent, when it is seen again at `seen_at`. */
static struct opt_int away_seconds(const struct alert_row *row, int64_t seen_at)
{
    int64_t seconds = (seen_at - row->since_at) / USEC_PER_SEC;

    return (struct opt_int){ true, seconds < 0 ? 0 : seconds };
}

/* A close reason for people. */
static const char *reason_text(struct str closed_by)
{
    if (str_eq_c(closed_by, "deleted"))
        return "it was deleted";
    if (str_eq_c(closed_by, "disabled"))
        return "it was disabled";
    if (str_eq_c(closed_by, "paused"))
        return "its schedule was paused";
    return str_eq_c(closed_by, "seen") ? "it was seen again" : "its schedule was changed";
}

int silent_alert_close(struct db *db, const struct silence_row *row,
                       const struct silent_change *change, struct arena *arena, struct error *err)
{
    struct str name = utf8_cut(row->agent_name, NAME_BYTES);
    struct alert_row alert;
    struct alert_notice notice = { .row = &alert,
                                   .message = STR_LIT("agent.recovered"),
                                   .notes = change->notes };

    if (alert_store_get(db, row->tenant_id, row->alert_id, arena, &alert, err) != 0)
        return -1;
    alert.closed_at = change->at;
    alert.closed_by = close_reason(row, alert.since_at, alert.closed_at);
    if (str_eq_c(alert.closed_by, "seen"))
        alert.away_seconds = away_seconds(&alert, row->last_seen_at);
    notice.summary = arena_printf(arena, "Agent '%.*s' is no longer silent: %s", STR_ARG(name),
                                  reason_text(alert.closed_by));
    return alerts_close(db, &notice, err);
}

/* When the alert's agent was seen; TIME_NULL when that was not stored. A linear search suffices:
 * few alerts are open. */
static int64_t seen_time(const struct sighting *sightings, size_t n, const struct alert_row *row)
{
    for (size_t i = 0; i < n; i++)
        if (sightings[i].tenant_id == row->tenant_id && sightings[i].agent_id == row->agent_id)
            return sightings[i].stored ? sightings[i].at : TIME_NULL;
    return TIME_NULL;
}

/* The agent was seen again at this time. */
static int close_seen(struct db *db, struct alert_notice *notice, int64_t at, struct arena *arena,
                      struct error *err)
{
    struct alert_row *row = notice->row;
    const struct str name = utf8_cut(row->agent_name, NAME_BYTES);

    row->closed_at = clock_wall_us();
    row->closed_by = STR_LIT("seen");
    row->away_seconds = away_seconds(row, at);
    notice->summary = arena_printf(arena, "Agent '%.*s' is back after %lld s", STR_ARG(name),
                                   (long long)row->away_seconds.value);
    return alerts_close(db, notice, err);
}

int silent_alert_on_sightings(struct txn *txn, const struct sighting *sightings, size_t n,
                              struct error *err)
{
    int64_t now = clock_wall_us();
    ARENA_SCOPED(arena);
    struct list alerts;
    int r;

    r = alert_store_of_sightings(txn->db, sightings, n, &arena, &alerts, err);
    for (size_t i = 0; r == 0 && i < alerts.n; i++) {
        struct alert_row *row = &((struct alert_row *)alerts.items)[i];
        struct alert_notice notice = { .row = row,
                                       .message = STR_LIT("agent.recovered"),
                                       .notes = alert_notes_of(txn) };
        int64_t at = seen_time(sightings, n, row);

        if (at != TIME_NULL && sighting_is_later(at, row->since_at, now))
            r = close_seen(txn->db, &notice, at, &arena, err);
    }
    return r;
}

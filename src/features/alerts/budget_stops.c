/* budget_stops.c - loads the hard budgets that are exceeded, and finds those of an agent. */
#include "features/alerts/budget_stops.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/datetime.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "features/agents/shapes.h"
#include "features/alerts/rule_shapes.h"
#include "features/alerts/rules.h"
#include "features/alerts/rules_store.h"
#include "features/alerts/watch.h"
#include "shape/rows.h"
#include "shape/timerange.h"

#define PERIOD_US   ((int64_t)2 * USEC_PER_SEC)
#define COMPLAIN_US ((int64_t)60 * USEC_PER_SEC) /* between lines about unreadable rules */

struct budget_stop {
    int64_t tenant_id;
    struct str subject;           /* of its alert */
    struct str amount;            /* USD */
    struct str agent_name, model; /* STR_NULL: any */
    int per;                      /* enum budget_period */
    int64_t until;                /* end of its period */
};

/* Immutable once loaded. */
struct stop_table {
    struct arena arena;
    struct list stops; /* of struct budget_stop, by tenant */
};

struct budget_stops {
    struct db *db;       /* of the watch */
    int64_t loaded_us;   /* raw; only the tick uses it and the next three; 0: never */
    int64_t raw_us;      /* of this tick */
    int64_t complain_us; /* raw: the next line about unreadable rules, not before */
    bool complains;      /* in this tick */
    struct rwlock lock;
    struct stop_table *loaded GUARDED_BY(lock) PT_GUARDED_BY(lock); /* replaced as a whole; NULL at
                                                                     * first */
};

static void free_table(struct stop_table *table)
{
    if (table == NULL)
        return;
    arena_done(&table->arena);
    free(table);
}

struct budget_stops *budget_stops_new(void)
{
    struct budget_stops *s = NEW(struct budget_stops);

    rwlock_init(&s->lock);
    return s;
}

void budget_stops_free(struct budget_stops *s)
{
    if (s == NULL)
        return;
    rwlock_unshared(&s->lock);
    free_table(s->loaded);
    rwlock_done(&s->lock);
    free(s);
}

/* Its strings are copied. */
static void add_stop(struct rows *stops, const struct budget_stop *from)
{
    struct budget_stop *stop = rows_add(stops);

    *stop = *from;
    stop->subject = arena_copy(stops->arena, from->subject);
    stop->amount = arena_copy(stops->arena, from->amount);
    stop->agent_name = arena_copy(stops->arena, from->agent_name);
    stop->model = arena_copy(stops->arena, from->model);
}

static struct budget_stop stop_of(const struct budget_alert_row *row,
                                  const struct budget_rule *rule)
{
    const enum bucket bucket = rule->per == BUDGET_DAY ? BUCKET_DAY : BUCKET_MONTH;

    return (struct budget_stop){ row->tenant_id,
                                 row->subject,
                                 rule->amount,
                                 rule->agent_name,
                                 rule->model,
                                 rule->per,
                                 timerange_bucket_next(bucket, row->since_at) };
}

/* Of the hard budgets that these alerts of the tenant are about. */
static void add_stops(struct rows *stops, const struct list *alerts,
                      const struct alert_rules *rules, struct arena *scratch)
{
    const struct budget_alert_row *rows = alerts->items;
    const struct budget_rule *budgets = rules->budgets.items;

    for (size_t b = 0; b < rules->budgets.n; b++) {
        struct str subject;

        if (!budgets[b].hard || budgets[b].paused)
            continue;
        subject = alert_rules_subject(&budget_rule_identity, &budgets[b], scratch);
        for (size_t i = 0; i < alerts->n; i++)
            if (str_eq(rows[i].subject, subject)) {
                const struct budget_stop stop = stop_of(&rows[i], &budgets[b]);

                add_stop(stops, &stop);
            }
    }
}

/* The first one of this tenant, or of a later one. */
static size_t first_of(const struct list *list, int64_t tenant_id)
{
    const struct budget_stop *stops = list->items;
    size_t low = 0, high = list->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (stops[middle].tenant_id < tenant_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* What was loaded last about the budget of this alert, if anything. */
static void keep_stop(struct budget_stops *s, struct rows *stops,
                      const struct budget_alert_row *row)
{
    rwlock_read(&s->lock);
    if (s->loaded != NULL) {
        const struct list *list = &s->loaded->stops;
        const struct budget_stop *all = list->items;

        for (size_t i = first_of(list, row->tenant_id);
             i < list->n && all[i].tenant_id == row->tenant_id; i++)
            if (str_eq(all[i].subject, row->subject))
                add_stop(stops, &all[i]);
    }
    rwlock_release(&s->lock);
}

/* Rules that cannot be read, for example of a newer version, concern their tenant alone: what was
 * loaded last about its open alerts holds. */
static void keep_stops(struct budget_stops *s, const struct list *alerts, struct rows *stops,
                       const struct error *why)
{
    const struct budget_alert_row *rows = alerts->items;

    if (s->raw_us >= s->complain_us) {
        log_write(LOG_WARNING, "alerts", "hard budgets of tenant %lld cannot be read: %s",
                  (long long)rows->tenant_id, why->text);
        s->complains = true;
    }
    for (size_t i = 0; i < alerts->n; i++)
        keep_stop(s, stops, &rows[i]);
}

/* All alerts are of one tenant. */
static int read_stops_of(struct budget_stops *s, struct db *db, const struct list *alerts,
                         struct rows *stops, struct error *err)
{
    const struct budget_alert_row *rows = alerts->items;
    struct alert_rules rules = { 0 };
    struct error failure = { 0 };
    ARENA_SCOPED(scratch);
    int r = 0;

    if (alert_rules_show(db, rows->tenant_id, &scratch, &rules, &failure) == 0)
        add_stops(stops, alerts, &rules, &scratch);
    else if (failure.code == ERR_UNAVAILABLE)
        r = err_set(err, ERR_UNAVAILABLE, "%s", failure.text);
    else
        keep_stops(s, alerts, stops, &failure);
    return r;
}

static int read_stops(struct budget_stops *s, struct db *db, struct arena *scratch,
                      struct rows *stops, struct error *err)
{
    struct budget_alert_row *alerts;
    struct list list;
    size_t next;

    if (rules_store_budget_alerts(db, scratch, &list, err) != 0)
        return -1;
    alerts = list.items;
    for (size_t i = 0; i < list.n; i = next) {
        next = i + 1;
        while (next < list.n && alerts[next].tenant_id == alerts[i].tenant_id)
            next++;
        if (read_stops_of(s, db, &(struct list){ &alerts[i], next - i }, stops, err) != 0)
            return -1;
    }
    return 0;
}

static int load_table(struct budget_stops *s, struct db *db, struct stop_table **ret,
                      struct error *err)
{
    struct stop_table *table = NEW(struct stop_table);
    struct rows stops = { .arena = &table->arena, .size = sizeof(struct budget_stop) };
    struct arena scratch;
    int r;

    arena_init(&table->arena);
    arena_init(&scratch);
    r = read_stops(s, db, &scratch, &stops, err);
    arena_done(&scratch);
    if (r != 0) {
        free_table(table);
        return -1;
    }
    table->stops = (struct list){ stops.items, stops.n };
    *ret = table;
    return 0;
}

static void *budget_stops_begin(const struct watch_env *env, const struct tick *now)
{
    (void)now;
    env->stops->db = env->db;
    return env->stops;
}

/* After a failure those that were loaded last hold. */
static int budget_stops_tick(void *state, const struct tick *now, int64_t epoch_us,
                             struct error *err)
{
    struct budget_stops *s = state;
    struct stop_table *table, *old;

    (void)epoch_us;
    if (s->loaded_us != 0 && now->raw_us - s->loaded_us < PERIOD_US)
        return 0;
    s->raw_us = now->raw_us;
    s->complains = false;
    if (load_table(s, s->db, &table, err) != 0)
        return -1;
    s->loaded_us = now->raw_us;
    if (s->complains)
        s->complain_us = now->raw_us + COMPLAIN_US;
    rwlock_write(&s->lock);
    old = s->loaded;
    s->loaded = table;
    rwlock_release(&s->lock);
    free_table(old);
    return 0;
}

static bool applies(const struct budget_stop *stop, const struct agent_model *model, int64_t now)
{
    return now < stop->until &&
           (str_is_null(stop->agent_name) || str_eq(stop->agent_name, model->agent_name)) &&
           (str_is_null(stop->model) ||
            (!str_is_null(model->model) && str_eq(stop->model, model->model)));
}

static struct str sentence_of(const struct budget_stop *stop, struct arena *arena)
{
    char until[DATETIME_TEXT_MAX];

    (void)datetime_format(stop->until, until);
    return arena_printf(
        arena,
        "The hard budget of %.*s USD per %s for LLM cost%s%s is exceeded: do not call a model "
        "before %s",
        STR_ARG(stop->amount), budget_period_names[stop->per],
        str_is_null(stop->agent_name) ? "" : " of this agent",
        str_is_null(stop->model) ? "" : " with this model", until);
}

struct str budget_stops_find(void *stops, int64_t tenant_id, const struct agent_model *model,
                             struct arena *arena)
{
    struct budget_stops *s = stops;
    const int64_t now = clock_wall_us();
    struct str sentence = STR_NULL;

    rwlock_read(&s->lock);
    if (s->loaded != NULL) {
        const struct list *list = &s->loaded->stops;
        const struct budget_stop *all = list->items;

        for (size_t i = first_of(list, tenant_id); i < list->n && all[i].tenant_id == tenant_id;
             i++)
            if (applies(&all[i], model, now)) {
                sentence = sentence_of(&all[i], arena);
                break;
            }
    }
    rwlock_release(&s->lock);
    return sentence;
}

const struct watch budget_stops_watch = {
    .name = "hard budgets",
    .begin = budget_stops_begin,
    .tick = budget_stops_tick,
};

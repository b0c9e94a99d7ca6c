/* budget_stops.c - loads the hard budgets that are exceeded, and finds those of an agent. */
#include "features/alerts/watch.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/datetime.h"
#include "base/lock.h"
#include "base/mem.h"
#include "features/agents/shapes.h"
#include "features/alerts/shapes.h"
#include "features/alerts/store.h"
#include "shape/problems.h"
#include "shape/rows.h"
#include "shape/timerange.h"

struct budget_stop {
    int64_t tenant_id;
    struct budget_detail budget; /* of its alert */
    int64_t until;               /* end of its period */
};

/* Immutable once loaded. */
struct stop_table {
    struct arena arena;
    struct list stops; /* of struct budget_stop, by tenant */
};

struct budget_stops {
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

static int read_stops(struct db *db, struct stop_table *table, struct error *err)
{
    struct rows stops = { .arena = &table->arena, .size = sizeof(struct budget_stop) };
    const struct budget_alert_row *rows;
    struct list alerts;

    if (alert_store_rules_budget_alerts(db, &table->arena, &alerts, err) != 0)
        return -1;
    rows = alerts.items;
    for (size_t i = 0; i < alerts.n; i++) {
        struct budget_detail budget;
        struct budget_stop *stop;

        if (shape_read_json(&budget_detail_shape, rows[i].detail, &table->arena, &budget,
                            problems_new(&table->arena, "detail")) != 0 ||
            !budget.hard.has)
            continue;
        stop = rows_add(&stops);
        *stop = (struct budget_stop){ rows[i].tenant_id, budget,
                                      timerange_bucket_next(budget.per == BUDGET_DAY ? BUCKET_DAY
                                                                                     : BUCKET_MONTH,
                                                            rows[i].since_at) };
    }
    table->stops = (struct list){ stops.items, stops.n };
    return 0;
}

/* After a failure those that were loaded last hold. */
static int budget_stops_load(struct watching *w, const struct tick *now, struct error *err)
{
    struct budget_stops *s = w->env.stops;
    struct stop_table *table = NEW(struct stop_table), *old;

    (void)now;
    arena_init(&table->arena);
    if (read_stops(w->env.db, table, err) != 0) {
        free_table(table);
        return -1;
    }
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
           (str_is_null(stop->budget.agent_name) ||
            str_eq(stop->budget.agent_name, model->agent_name)) &&
           (str_is_null(stop->budget.model) ||
            (!str_is_null(model->model) && str_eq(stop->budget.model, model->model)));
}

static struct str sentence_of(const struct budget_stop *stop, struct arena *arena)
{
    char until[DATETIME_TEXT_MAX];

    (void)datetime_format(stop->until, until);
    return arena_printf(
        arena,
        "The hard budget of %.*s USD per %s for LLM cost%s%s is exceeded: do not call a model "
        "before %s",
        STR_ARG(stop->budget.amount), budget_period_names[stop->budget.per],
        str_is_null(stop->budget.agent_name) ? "" : " of this agent",
        str_is_null(stop->budget.model) ? "" : " with this model", until);
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
    .size = sizeof(struct watching),
    .period_s = 2,
    .find = budget_stops_load,
};

/* budget_metrics.c - what callers hold, by level and kind, as metrics. */
#include "features/status/budget_metrics.h"

#include "api/api.h"
#include "base/budget.h"
#include "base/metrics.h"
#include "engine/engine.h"
#include "features/access/access.h"
#include "features/access/registry.h"

static void print_by_level(struct buf *out, const char *name, const struct budget_level *level,
                           enum budget_kind kind, int64_t value)
{
    buf_printf(out, "%s{level=\"%s\",kind=\"%s\"} %lld\n", name, level->name,
               budget_kind_name(kind), (long long)value);
}

/* At the levels with one node, its use; of the tenants, the one that holds most. */
static void print_used(struct api *api, struct budgets *b, struct buf *out)
{
    metric_print_head(out, "muster_budget_used", "gauge",
                      "What callers hold now, by kind: all, those without a key (open), and the "
                      "tenant that holds most");
    for (unsigned kind = 0; kind < BUDGET_KINDS; kind++) {
        print_by_level(out, "muster_budget_used", &b->service_level, kind,
                       budget_used(&b->service, kind));
        print_by_level(out, "muster_budget_used", &b->open_level, kind,
                       budget_used(&b->open, kind));
        print_by_level(out, "muster_budget_used", &b->tenant_level, kind,
                       registry_largest_use(access_registry(api->engine), kind));
    }
}

static void print_limits(struct budgets *b, struct buf *out)
{
    const struct budget_level *level;

    metric_print_head(out, "muster_budget_max", "gauge",
                      "What one caller of a level may hold, by kind; absent: no limit");
    for (size_t i = 0; (level = budgets_level(b, i)) != NULL; i++)
        for (unsigned kind = 0; kind < BUDGET_KINDS; kind++)
            if (level->max[kind] != 0)
                print_by_level(out, "muster_budget_max", level, kind,
                               level->max[kind] < 0 ? 0 : level->max[kind]);
}

static void print_refused(struct budgets *b, struct buf *out)
{
    const struct budget_level *level;

    metric_print_head(out, "muster_budget_refused_total", "counter",
                      "Requests for more than a caller of this level may hold, by kind");
    for (size_t i = 0; (level = budgets_level(b, i)) != NULL; i++)
        for (unsigned kind = 0; kind < BUDGET_KINDS; kind++)
            if (level->max[kind] != 0)
                print_by_level(
                    out, "muster_budget_refused_total", level, kind,
                    (int64_t)atomic_load_explicit(&level->refused[kind], memory_order_relaxed));
}

void budget_metrics_write(struct api *api, struct buf *out)
{
    struct budgets *b = engine_budgets(api->engine);

    print_used(api, b, out);
    print_limits(b, out);
    print_refused(b, out);
}

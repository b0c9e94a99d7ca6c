/* usage_kpi.c - sums of a KPI by agent and day, and costs divided by them. */
#include "features/cost/usage.h"

#include <math.h>

#include "db/name_key.h"
#include "features/access/registry.h"
#include "features/cost/llm_totals.h"
#include "features/kpis/kpi_reads.h"
#include "features/kpis/kpis.h"

struct part_key {
    int64_t agent_id, day;
};

static struct str key_bytes(const struct part_key *key)
{
    return str_from((const char *)key, sizeof(*key));
}

/* The agent of a series; 0: the series is left out. */
static int64_t agent_of(const struct usage_kpi *kpi, int64_t series_no)
{
    const struct kpi_series *series = kpi->series.items;
    size_t low = 0, high = kpi->series.n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (series[middle].series_no < series_no)
            low = middle + 1;
        else
            high = middle;
    }
    return low < kpi->series.n && series[low].series_no == series_no ? series[low].agent_id : 0;
}

static void usage_kpi_add_state(void *ctx, int64_t series_no, int64_t at,
                                const struct kpi_state *state)
{
    struct usage_kpi *kpi = ctx;
    int64_t agent_id = agent_of(kpi, series_no);
    const struct part_key key = { kpi->by_agent ? agent_id : 0,
                                  kpi->by_day ? llm_totals_start(LLM_DAY, at) : 0 };
    struct kpi_state *part;

    if (agent_id == 0)
        return;
    kpi_state_merge(&kpi->total, state);
    if (!kpi->by_agent && !kpi->by_day)
        return;
    part = map_get(&kpi->parts, key_bytes(&key));
    if (part == NULL) {
        part = ARENA_NEW(kpi->arena, struct kpi_state);
        (void)map_put(&kpi->parts, arena_copy(kpi->arena, key_bytes(&key)), part);
    }
    kpi_state_merge(part, state);
}

/* Drops the series of agents that total the KPI in another way. */
static void keep_sums(struct list *series, const struct list *declared)
{
    const struct kpi_declared *kpis = declared->items;
    struct kpi_series *items = series->items;
    size_t kept = 0;

    for (size_t i = 0; i < series->n; i++) {
        bool sums = true;

        for (size_t j = 0; j < declared->n; j++)
            if (kpis[j].agent_id == items[i].agent_id)
                sums = kpi_total_of(kpis[j].agg) == KPI_SUM;
        if (sums)
            items[kept++] = items[i];
    }
    series->n = kept;
}

int usage_kpi_read(struct usage_kpi *kpi, struct db *db, const struct usage_request *request,
                   int64_t agent_id, struct arena *arena, struct error *err)
{
    const struct kpi_source source = { .tenant_id = request->tenant->id,
                                       .key = store_name_key(request->kpi, arena).key,
                                       .agent_id = agent_id };
    const struct kpi_reading reading = {
        .range = request->range, .bucket = BUCKET_DAY, .on_state = usage_kpi_add_state, .ctx = kpi
    };
    bool attributable = (request->groups & (GROUP_MODEL | GROUP_RUN | GROUP_VERSION)) == 0;
    struct kpi_rows series, declared;

    *kpi = (struct usage_kpi){ .arena = arena,
                               .by_agent = attributable && (request->groups & GROUP_AGENT) != 0,
                               .by_day = attributable && (request->groups & GROUP_DAY) != 0 };
    map_init(&kpi->parts);
    if (kpi_reads_series(db, &source, KPI_ROWS_MAX, arena, &series, err) != 0 ||
        kpi_reads_declared(db, &source, KPI_ROWS_MAX, arena, &declared, err) != 0)
        return -1;
    if (series.cut || declared.cut)
        return err_set(err, ERR_CONFLICT,
                       "Too many agents have this KPI; choose one with agent_name");
    kpi->series = series.list;
    keep_sums(&kpi->series, &declared.list);
    return kpi_reads_states(db, &source, &reading, err);
}

void usage_kpi_done(struct usage_kpi *kpi)
{
    map_done(&kpi->parts);
}

/* Picodollars per unit; exact for whole numbers of units. */
static wide_int divide(wide_int cost, const struct kpi_value *units)
{
    if (units->kind == VALUE_INT)
        return money_divide(cost, (wide_int)units->integer * MONEY_ATTO_PER_PICO);
    return (wide_int)rintl((long double)cost / MONEY_ATTO_PER_PICO / (long double)units->real);
}

static bool is_divisor(const struct kpi_value *units)
{
    const double least = 1e-9; /* units: fewer would make the cost overflow */

    return units->kind == VALUE_INT ? units->integer != 0 : fabs(units->real) >= least;
}

static void fill_units(const struct usage_kpi *kpi, const struct kpi_state *state,
                       const struct cost_sum *sum, struct usage_sums *ret)
{
    char text[MONEY_TEXT_MAX];
    struct kpi_value units;

    if (!kpi_state_total(state, KPI_SUM, &units))
        return;
    ret->kpi_value = kpi_value_text(&units, STR_NULL, kpi->arena);
    if (!str_is_null(ret->cost) && is_divisor(&units))
        ret->cost_per_unit = arena_copy(kpi->arena, money_format(divide(sum->cost, &units), text));
}

void usage_kpi_fill_total(const struct usage_kpi *kpi, const struct cost_sum *sum,
                          struct usage_sums *ret)
{
    fill_units(kpi, &kpi->total, sum, ret);
}

void usage_kpi_fill_part(const struct usage_kpi *kpi, int64_t agent_id, int64_t day,
                         const struct cost_sum *sum, struct usage_sums *ret)
{
    const struct part_key key = { agent_id, day };
    const struct kpi_state *part = map_get(&kpi->parts, key_bytes(&key));

    if (part != NULL)
        fill_units(kpi, part, sum, ret);
}

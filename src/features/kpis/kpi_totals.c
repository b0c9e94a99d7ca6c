/* kpi_totals.c - totals as text, and how several agents are totalled. */
#include "features/kpis/kpi_totals.h"

#include "api/call.h"
#include "base/clock.h"
#include "db/db.h"
#include "db/name_key.h"
#include "features/agents/agents.h"
#include "shape/json.h"

const char kpi_too_many_agents[] =
    "Too many agents report or declare this key; choose one with agent_name";

struct str kpi_value_text(const struct kpi_value *value, struct str string, struct arena *arena)
{
    BUF_SCOPED(out, SIZE_MAX); /* no longer than a stored value */

    if (value->kind == VALUE_INT)
        buf_add_int(&out, value->integer);
    else if (value->kind == VALUE_REAL)
        json_add_real(&out, value->real);
    else
        buf_add_json(&out, string);
    return buf_take(&out, arena);
}

void kpi_total_text(struct rows *texts, const struct kpi_state *state, enum kpi_total total,
                    struct str key, struct str *ret)
{
    struct kpi_value value;

    *ret = STR_NULL;
    if (!kpi_state_total(state, total, &value))
        return;
    if (value.kind == VALUE_STR)
        *(struct kpi_text *)rows_add(texts) = (struct kpi_text){ key, state->last_at, ret };
    else
        *ret = kpi_value_text(&value, STR_NULL, texts->arena);
}

static const struct kpi_declared *declared_by(const struct list *declared, int64_t agent_id)
{
    const struct kpi_declared *kpis = declared->items;

    for (size_t i = 0; i < declared->n; i++)
        if (kpis[i].agent_id == agent_id)
            return &kpis[i];
    return NULL;
}

/* Two STR_NULL are the same, too. */
static bool same(struct str a, struct str b)
{
    return str_is_null(a) == str_is_null(b) && str_eq(a, b);
}

static void join(struct kpi_together *t, size_t n_before, const struct kpi_declared *kpi,
                 enum kpi_total undeclared)
{
    static const char *const words[] = {
        [KPI_SUM] = "sum", [KPI_LAST] = "last", [KPI_AVG] = "avg", [KPI_MAX] = "max"
    };
    static const struct kpi_declared none = { 0 };
    enum kpi_total total = kpi == NULL ? undeclared : kpi_total_of(kpi->agg);

    if (kpi == NULL)
        kpi = &none;
    if (n_before == 0) {
        *t = (struct kpi_together){ .unit = kpi->unit, .agg = kpi->agg, .total = total };
        return;
    }
    t->differs |= t->total != total;
    if (!same(t->unit, kpi->unit))
        t->unit = STR_NULL;
    if (!same(t->agg, kpi->agg)) /* two words for the same total, or declared and undeclared */
        t->agg = str_of(words[total]);
}

int kpi_together_of(const struct kpi_reader *reader, const struct kpi_source *source,
                    const struct list *agents, enum kpi_total undeclared, struct kpi_together *ret,
                    struct error *err)
{
    struct kpi_rows series = { 0 }, declared;
    const struct kpi_series *reported;
    const struct kpi_declared *kpis;

    if (agents != NULL)
        series.list = *agents;
    else if (kpi_reads_series(reader->db, source, KPI_ROWS_MAX, reader->arena, &series, err) != 0)
        return -1;
    if (kpi_reads_declared(reader->db, source, KPI_ROWS_MAX, reader->arena, &declared, err) != 0)
        return -1;
    reported = series.list.items;
    kpis = declared.list.items;
    *ret = (struct kpi_together){ .total = undeclared };
    for (size_t i = 0; i < series.list.n; i++)
        join(ret, i, declared_by(&declared.list, reported[i].agent_id), undeclared);
    for (size_t i = 0; series.list.n == 0 && i < declared.list.n; i++)
        join(ret, i, &kpis[i], undeclared);
    ret->cut = series.cut || declared.cut;
    ret->n = series.list.n;
    return 0;
}

struct kpi_reader kpi_reader_of(struct api_call *call, struct db *db)
{
    return (struct kpi_reader){ db, call->tenant_id, clock_wall_us(), call->arena, call };
}

int kpi_refuse(const struct kpi_reader *reader, const char *name, struct str value,
               const char *sentence, struct error *err)
{
    return call_refuse_query(reader->call, err, name, value, sentence);
}

int kpi_find_agent(const struct kpi_reader *reader, struct str agent_name, int64_t *ret,
                   struct error *err)
{
    return agents_filter_id(reader->db, reader->tenant_id, agent_name, ret, err);
}

static void kpi_value_add_state(void *ctx, int64_t series_no, int64_t at,
                                const struct kpi_state *state)
{
    (void)series_no;
    (void)at;
    kpi_state_merge(ctx, state);
}

static int read_value(const struct kpi_reader *reader, const struct kpi_question *question,
                      struct kpi_value_of *ret, struct error *err)
{
    struct kpi_source source = { .tenant_id = reader->tenant_id,
                                 .key = store_name_key(question->key, reader->arena).key };
    struct kpi_state state = { 0 };
    struct kpi_reading reading = { question->range, BUCKET_DAY, kpi_value_add_state, &state };
    struct kpi_together together;
    struct kpi_value value;

    if (kpi_find_agent(reader, question->agent_name, &source.agent_id, err) != 0)
        return -1;
    ret->agent_id = source.agent_id;
    if (source.agent_id < 0)
        return 0;
    if (kpi_together_of(reader, &source, NULL, KPI_LAST, &together, err) != 0)
        return -1;
    if (together.cut)
        return 0;
    ret->is_sum = !together.differs && together.total == KPI_SUM;
    if (together.differs || together.n == 0)
        return 0;
    if (kpi_reads_states(reader->db, &source, &reading, err) != 0)
        return -1;
    if (!kpi_state_total(&state, together.total, &value) || value.kind == VALUE_STR)
        return 0;
    ret->has = true;
    ret->value = value.kind == VALUE_INT ? (double)value.integer : value.real;
    return 0;
}

int kpis_value(const struct kpi_reader *reader, const struct kpi_question *question,
               struct kpi_value_of *ret, struct error *err)
{
    int r;

    *ret = (struct kpi_value_of){ 0 };
    if (db_begin(reader->db, err) != 0)
        return -1;
    r = read_value(reader, question, ret, err);
    db_rollback(reader->db);
    return r;
}

/* kpi_value.c - one KPI over a range as one number. */
#include "db/db.h"
#include "db/name_key.h"
#include "features/kpis/kpi_totals.h"

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
    struct kpi_rows series, declared;
    struct kpi_state state = { 0 };
    struct kpi_reading reading = { question->range, BUCKET_DAY, kpi_value_add_state, &state };
    struct kpi_together together;
    struct kpi_value value;

    if (kpi_find_agent(reader, question->agent_name, &source.agent_id, err) != 0)
        return -1;
    ret->agent_id = source.agent_id;
    if (source.agent_id < 0)
        return 0;
    if (store_kpi_series(reader->db, &source, KPI_ROWS_MAX, reader->arena, &series, err) != 0 ||
        store_kpi_declared(reader->db, &source, KPI_ROWS_MAX, reader->arena, &declared, err) != 0)
        return -1;
    if (series.cut || declared.cut)
        return 0;
    together = kpi_total_together(&series.list, &declared.list, KPI_LAST);
    ret->is_sum = !together.differs && together.total == KPI_SUM;
    if (together.differs || series.list.n == 0)
        return 0;
    if (store_kpi_read(reader->db, &source, &reading, err) != 0)
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

/* test_rollups.c - totals stay those of the stored values, and a replaced maximum costs the same
 * however many values its hour has. */
#include "features/kpis/rollups.h"

#include "base/clock.h"
#include "unit/random.h"
#include "unit/store_world.h"

enum { RUNS = 12, STEPS = 400, FEW = 100, MANY = 20000, ROUNDS = 5 };

#define HOUR_US (3600 * (int64_t)USEC_PER_SEC)

/* clang-format off */
static const struct db_query put_value = {
    .sql = "INSERT INTO business_values (tenant_id, run_no, key, agent_id, timestamp, received_at,"
           " integer_value, real_value, text_value) VALUES ($1, $2, 'k', $3, $4, $5, $6, $7, $8)"
           " ON CONFLICT (tenant_id, run_no, key) DO UPDATE SET timestamp = excluded.timestamp,"
           " received_at = excluded.received_at, integer_value = excluded.integer_value,"
           " real_value = excluded.real_value, text_value = excluded.text_value",
};
static const struct db_query put_many = {
    .sql = "INSERT INTO business_values (tenant_id, run_no, key, agent_id, timestamp, received_at,"
           " integer_value) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
           " WHERE i < $3) SELECT $1, i, 'k', $2, 1000, i, i FROM n",
};
static const struct db_query select_state = {
    .sql = "SELECT state FROM business_rollups WHERE level = $1 AND start = $2",
};
/* clang-format on */

struct value {
    struct kpi_value value;
    struct kpi_stamp at;
};

static void store(struct world *w, const struct value *v)
{
    const struct db_args args =
        DB_ARGS(db_int(w->tenant_id), db_int(v->at.run_no), db_int(w->agent_id),
                db_int(v->at.timestamp), db_int(v->at.received_at),
                v->value.kind == VALUE_INT ? db_int(v->value.integer) : db_null(),
                v->value.kind == VALUE_REAL ? db_real(v->value.real) : db_null(),
                v->value.kind == VALUE_STR ? db_text(STR_LIT("x")) : db_null());
    struct error err = { 0 };

    must(db_run(w->db, &put_value, args, &err), &err);
}

static void replace(struct world *w, struct rollups *r, const struct value *old,
                    const struct value *new)
{
    const struct rollup_owner owner = { w->tenant_id, w->agent_id, { STR_LIT("k"), STR_NULL } };
    struct error err = { 0 };

    store(w, new);
    if (old->at.run_no != 0)
        rollups_remove(r, &owner, &old->value, &old->at);
    rollups_add(r, &owner, &new->value, &new->at);
    must(rollups_settle(r, w->db, &err), &err);
}

static bool read_state(void *ctx, const struct db_row *row)
{
    return kpi_state_read(db_get_blob(row, 0), ctx);
}

/* Few different values, so that there are ties, also between 2 and 2.0; in two hours, one of them
 * before 1970. */
static struct value random_value(struct random *r, int64_t run_no, int64_t received_at)
{
    struct value v = { .at = { (int64_t)(random_below(r, 8))*HOUR_US / 4 - HOUR_US, received_at,
                               run_no } };

    v.value.kind = (enum value_kind)(random_below(r, 3));
    if (v.value.kind == VALUE_INT)
        v.value.integer = (int64_t)(random_below(r, 5))-2;
    if (v.value.kind == VALUE_REAL)
        v.value.real = (double)(random_below(r, 9)) / 2 - 2;
    return v;
}

static void check_bucket(struct world *w, const struct value *values, enum rollup_level level,
                         int64_t start)
{
    struct kpi_state expected = { 0 }, stored = { 0 };
    struct error err = { 0 };

    for (size_t i = 0; i < RUNS; i++)
        if (values[i].at.run_no != 0 && rollup_start(level, values[i].at.timestamp) == start)
            kpi_state_add(&expected, &values[i].value, &values[i].at);
    must(db_exec(w->db, &select_state, DB_ARGS(db_int(level), db_int(start)), read_state, &stored,
                 &err),
         &err);
    CHECK_INT(stored.n, expected.n);
    if (expected.n == 0)
        return;
    CHECK_INT(stored.numbers, expected.numbers);
    CHECK_INT(stored.last_at.run_no, expected.last_at.run_no);
    CHECK_INT(stored.last_at.timestamp, expected.last_at.timestamp);
    CHECK_INT(stored.last.kind, expected.last.kind);
    if (expected.numbers == 0)
        return;
    CHECK_INT(stored.max.kind, expected.max.kind);
    CHECK_INT(stored.max.integer, expected.max.integer);
    CHECK(stored.max.real == expected.max.real);
}

TEST(totals_are_those_of_the_values_whatever_is_replaced)
{
    struct value values[RUNS] = { 0 };
    struct rollups *rollups = rollups_new();
    struct random random = { 30 };
    struct world w;

    world_init(&w);
    for (int64_t i = 1; i <= STEPS; i++) {
        size_t run = random_below(&random, RUNS);
        const struct value v = random_value(&random, (int64_t)run + 1, i);

        replace(&w, rollups, &values[run], &v);
        values[run] = v;
        for (int64_t hour = -1; hour < 1; hour++)
            check_bucket(&w, values, ROLLUP_HOUR, hour * HOUR_US);
        check_bucket(&w, values, ROLLUP_DAY, 0);
        check_bucket(&w, values, ROLLUP_DAY, -24 * HOUR_US);
    }
    rollups_free(rollups);
    world_done(&w);
}

/* The least time of a replacement of the greatest of `n` values, which is the last one too. */
static int64_t replacement_us(int64_t n)
{
    struct rollups *r = rollups_new();
    int64_t least = INT64_MAX;
    struct error err = { 0 };
    struct world w;

    world_init(&w);
    must(db_begin(w.db, &err), &err);
    must(db_run(w.db, &put_many, DB_ARGS(db_int(w.tenant_id), db_int(w.agent_id), db_int(n)), &err),
         &err);
    for (int64_t i = 0; i < ROUNDS; i++) {
        const struct value old = { { VALUE_INT, n - i, 0 }, { 1000, n - i, n - i } };
        const struct value low = { { VALUE_INT, -1, 0 }, { 1000, 0, n - i } };
        int64_t began = clock_mono_us(), us;

        replace(&w, r, &old, &low);
        us = clock_mono_us() - began;
        least = us < least ? us : least;
    }
    db_rollback(w.db);
    rollups_free(r);
    world_done(&w);
    return least;
}

TEST(a_replaced_maximum_costs_the_same_however_many_values_there_are)
{
    int64_t few_us = replacement_us(FEW), many_us = replacement_us(MANY);

    CHECK(many_us < 10 * few_us); /* reading them all would be about 200 times as much */
}

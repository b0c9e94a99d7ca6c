/* test_report_order.c - what is stored does not depend on the order in which reports come. */
#include "features/kpis/report_shapes.h"
#include "features/kpis/report_store.h"
#include "features/kpis/rollups.h"
#include "unit/store_world.h"

enum { KEYS = 3, BREAKDOWNS = 3, REPORTS = 6, ROUNDS = 200 };

/* A random report: -1 where it says nothing. */
struct sample {
    int second;
    int values[KEYS], cells[BREAKDOWNS];
};

/* The breakdowns 0 and 2 differ in what they split by, 0 and 1 in the metric. */
static const char *const breakdown_heads[BREAKDOWNS][2] = {
    { "\"metric\":\"m\",\"by\":[\"a\",\"b\"]", "\"metric\":\"m\",\"by\":[\"b\",\"a\"]" },
    { "\"metric\":\"n\",\"by\":[\"a\",\"b\"]", "\"metric\":\"n\",\"by\":[\"b\",\"a\"]" },
    { "\"metric\":\"m\",\"by\":\"a\"", "\"metric\":\"m\",\"by\":[\"a\"]" },
};

static unsigned next_random(unsigned *state, unsigned below)
{
    *state = *state * 1664525U + 1013904223U;
    return (*state >> 16) % below;
}

static void random_sample(struct sample *s, unsigned *seed)
{
    s->second = (int)next_random(seed, 4);
    for (int k = 0; k < KEYS; k++)
        s->values[k] = (int)next_random(seed, 5) - 1;
    for (int b = 0; b < BREAKDOWNS; b++)
        s->cells[b] = (int)next_random(seed, 4) - 1;
}

static struct str sample_body(struct world *w, const struct sample *s, const char *run_id,
                              unsigned *seed)
{
    const char *comma = "";

    buf_clear(&w->text);
    buf_printf(&w->text,
               "{\"agent_name\":\"collector\",\"run_id\":\"%s\",\"timestamp\":"
               "\"1970-01-01T00:00:%02dZ\",\"metrics\":{",
               run_id, s->second);
    for (int k = 0; k < KEYS; k++) {
        if (s->values[k] >= 0) {
            buf_printf(&w->text, "%s\"k%d\":%d", comma, k, s->values[k]);
            comma = ",";
        }
    }
    buf_add_c(&w->text, "},\"breakdowns\":[");
    comma = "";
    for (int b = 0; b < BREAKDOWNS; b++) {
        if (s->cells[b] < 0)
            continue;
        buf_printf(&w->text, "%s{%s,\"points\":[", comma, breakdown_heads[b][next_random(seed, 2)]);
        for (int i = 0; i < s->cells[b]; i++)
            buf_printf(&w->text, "%s{\"a\":%d,\"b\":\"x\",\"value\":%d}", i > 0 ? "," : "", i,
                       s->second);
        buf_add_c(&w->text, "]}");
        comma = ",";
    }
    buf_add_c(&w->text, "]}");
    return arena_copy(&w->arena, buf_str(&w->text));
}

/* The slow and obvious way: sort by (timestamp, arrival), let each report overwrite. */
static struct sample reference(const struct sample *arrived[], size_t n, struct sample *ret_times)
{
    struct sample state = { .values = { -1, -1, -1 }, .cells = { -1, -1, -1 } };

    for (int second = 0; second < 4; second++) {
        for (size_t i = 0; i < n; i++) {
            const struct sample *s = arrived[i];

            if (s->second != second)
                continue;
            for (int k = 0; k < KEYS; k++) {
                if (s->values[k] >= 0) {
                    state.values[k] = s->values[k];
                    ret_times->values[k] = second;
                }
            }
            for (int b = 0; b < BREAKDOWNS; b++) {
                if (s->cells[b] >= 0) {
                    state.cells[b] = s->cells[b];
                    ret_times->cells[b] = second;
                }
            }
        }
    }
    return state;
}

/* clang-format off */
static const struct db_query run_values = {
    .sql = "SELECT v.key || '=' || v.integer_value || '@' || (v.timestamp / 1000000)"
           " FROM business_values v JOIN business_runs r ON r.run_no = v.run_no"
           " WHERE r.run_id = $1 ORDER BY v.key",
};
static const struct db_query run_breakdowns = {
    .sql = "SELECT b.metric || b.dimensions || '=' || json_array_length(b.cells) || '@'"
           " || (b.timestamp / 1000000)"
           " FROM business_breakdowns b JOIN business_runs r ON r.run_no = b.run_no"
           " WHERE r.run_id = $1 ORDER BY b.metric DESC, b.dimensions DESC",
};
/* clang-format on */

static const char *expected_values(struct world *w, const struct sample *state,
                                   const struct sample *times)
{
    struct str text = STR_LIT("");

    for (int k = 0; k < KEYS; k++)
        if (state->values[k] >= 0)
            text = arena_printf(&w->arena, "%.*s%sk%d=%d@%d", STR_ARG(text),
                                text.len > 0 ? "\n" : "", k, state->values[k], times->values[k]);
    return arena_cstr(&w->arena, text);
}

static const char *expected_breakdowns(struct world *w, const struct sample *state,
                                       const struct sample *times)
{
    static const char *const names[] = { "m[\"a\",\"b\"]", "n[\"a\",\"b\"]", "m[\"a\"]" };
    static const int order[] = { 1, 2, 0 }; /* by metric and dimensions, downwards */
    struct str text = STR_LIT("");

    for (int i = 0; i < BREAKDOWNS; i++) {
        int b = order[i];

        if (state->cells[b] >= 0)
            text =
                arena_printf(&w->arena, "%.*s%s%s=%d@%d", STR_ARG(text), text.len > 0 ? "\n" : "",
                             names[b], state->cells[b], times->cells[b]);
    }
    return arena_cstr(&w->arena, text);
}

static void put(struct world *w, struct str body, int64_t received_at)
{
    const struct report_key place = { w->tenant_id, w->agent_id, received_at, NULL };
    struct business_rows rows;
    struct rollups *rollups = rollups_new();
    struct error err = { 0 };
    int64_t replaced;

    store_business_prepare(world_read(w, &business_telemetry_shape, body), &w->arena, &rows);
    must(store_business_put(w->db, &place, &rows, rollups, &replaced, &err), &err);
    must(rollups_settle(rollups, w->db, &err), &err);
    rollups_free(rollups);
}

/* Random reports, some of them sent again, in random orders. */
TEST(what_is_stored_is_as_if_reports_were_applied_by_timestamp_then_arrival)
{
    struct error err = { 0 };
    struct world w;
    unsigned seed = 1;

    world_init(&w);
    must(db_begin(w.db, &err), &err);
    for (unsigned round = 0; round < ROUNDS; round++) {
        const char *run_id = arena_printf(&w.arena, "00000000-0000-4000-8000-%012u", round).data;
        const struct db_args args = DB_ARGS(db_text(str_of(run_id)));
        struct sample samples[REPORTS], merged, times = { 0 };
        const struct sample *arrived[2 * REPORTS];
        size_t n = 1 + next_random(&seed, 2 * REPORTS);

        for (int i = 0; i < REPORTS; i++)
            random_sample(&samples[i], &seed);
        for (size_t i = 0; i < n; i++) {
            arrived[i] = &samples[next_random(&seed, REPORTS)];
            put(&w, sample_body(&w, arrived[i], run_id, &seed), (int64_t)i);
        }
        merged = reference(arrived, n, &times);
        CHECK_STR(world_rows(&w, &run_values, args), expected_values(&w, &merged, &times));
        CHECK_STR(world_rows(&w, &run_breakdowns, args), expected_breakdowns(&w, &merged, &times));
    }
    must(db_commit(w.db, &err), &err);
    world_done(&w);
}

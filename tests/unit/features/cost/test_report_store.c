/* test_report_store.c - a usage is stored once for each (tenant, agent, run, model, timestamp). */
#include "features/cost/report_shapes.h"

#include "features/cost/report_store.h"
#include "unit/store_world.h"

/* clang-format off */
static const struct db_query all_usage = {
    .sql = "SELECT model || ' ' || agent_id || ' ' || substr(run_id, 1, 1) || ' at ' || timestamp"
           " || ': ' || input_tokens || ' ' || output_tokens || ' ' || cache_read_tokens || ' '"
           " || cache_write_tokens || ' ' || calls || ' ' || agent_version || ' '"
           " || COALESCE(workflow_run_id, 'null') || ' came ' || received_at"
           " FROM llm_usage ORDER BY received_at",
};

/* Reports in order of arrival after the first one, which has model "m" and 5 input tokens. */
static const struct {
    const char *about, *second, *stored;
} rows[] = {
    { "the same again changes nothing",
      "\"model\":\"m\",\"input_tokens\":5",
      "m 1 3 at 1000000: 5 0 0 0 0  null came 1" },
    { "other numbers replace",
      "\"model\":\"m\",\"input_tokens\":1,\"output_tokens\":2,\"cache_read_tokens\":3,"
      "\"cache_write_tokens\":4,\"calls\":6",
      "m 1 3 at 1000000: 1 2 3 4 6  null came 2" },
    { "another version or workflow replaces",
      "\"model\":\"m\",\"input_tokens\":5,\"agent_version\":\"2\",\"workflow_run_id\":\"w\"",
      "m 1 3 at 1000000: 5 0 0 0 0 2 w came 2" },
    { "another workflow alone replaces",
      "\"model\":\"m\",\"input_tokens\":5,\"workflow_run_id\":\"\"",
      "m 1 3 at 1000000: 5 0 0 0 0   came 2" },
    { "another model adds",
      "\"model\":\"M\"",
      "m 1 3 at 1000000: 5 0 0 0 0  null came 1\nM 1 3 at 1000000: 0 0 0 0 0  null came 2" },
    { "another timestamp adds",
      "\"model\":\"m\",\"timestamp\":\"1970-01-01T00:00:01.000001Z\"",
      "m 1 3 at 1000000: 5 0 0 0 0  null came 1\nm 1 3 at 1000001: 0 0 0 0 0  null came 2" },
    { "another run adds",
      "\"model\":\"m\",\"run_id\":\"00000000-0000-4000-8000-000000000000\"",
      "m 1 3 at 1000000: 5 0 0 0 0  null came 1\nm 1 0 at 1000000: 0 0 0 0 0  null came 2" },
    { "the largest numbers are kept",
      "\"model\":\"m\",\"input_tokens\":9223372036854775807,\"calls\":-9223372036854775808",
      "m 1 3 at 1000000: 9223372036854775807 0 0 0 -9223372036854775808  null came 2" },
};
/* clang-format on */

/* The last of members with one name counts. */
static void put(struct world *w, const char *members, int64_t agent_id, int64_t received_at)
{
    const struct report_key place = { w->tenant_id, agent_id, received_at, NULL };
    struct str body = arena_printf(&w->arena,
                                   "{\"agent_name\":\"a\",\"run_id\":\"" RUN "\",\"timestamp\":"
                                   "\"1970-01-01T00:00:01Z\",%s}",
                                   members);
    struct llm_totals *totals = llm_totals_new();
    struct error err = { 0 };
    bool replaced;

    must(store_llm_put(w->db, &place, world_read(w, &llm_usage_shape, body), totals, &replaced,
                       &err),
         &err);
    must(llm_totals_save(totals, w->db, &err), &err);
    llm_totals_free(totals);
}

TEST(a_usage_is_stored_once_for_its_identity)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct world w;

        world_init(&w);
        put(&w, "\"model\":\"m\",\"input_tokens\":5", w.agent_id, 1);
        put(&w, rows[i].second, w.agent_id, 2);
        if (!str_eq_c(world_rows(&w, &all_usage, DB_NO_ARGS), rows[i].stored))
            print_error("%s\n", rows[i].about);
        CHECK_STR(buf_str(&w.text), rows[i].stored);
        world_done(&w);
    }
}

TEST(the_same_usage_of_another_agent_adds)
{
    struct world w;

    world_init(&w);
    put(&w, "\"model\":\"m\"", w.agent_id, 1);
    put(&w, "\"model\":\"m\"", world_add_agent(&w, "other"), 2);
    CHECK_STR(world_rows(&w, &all_usage, DB_NO_ARGS),
              "m 1 3 at 1000000: 0 0 0 0 0  null came 1\nm 2 3 at 1000000: 0 0 0 0 0  null came 2");
    world_done(&w);
}

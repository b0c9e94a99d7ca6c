/* test_report_store.c - reports are merged by key; what is stored does not depend on their order.
 */
#include "features/kpis/report_shapes.h"

#include "features/kpis/report_store.h"
#include "features/kpis/rollups.h"
#include "unit/store_world.h"

#define HEAD "\"agent_name\":\"collector\",\"run_id\":\"" RUN "\""

/* clang-format off */
static const struct db_query all_values = {
    .sql = "SELECT COALESCE(v.full_key, v.key) || ' ' || CASE"
           " WHEN v.integer_value IS NOT NULL THEN 'integer ' || v.integer_value"
           " WHEN v.real_value IS NOT NULL THEN 'real ' || v.real_value"
           " ELSE 'text ' || v.text_value END"
           " || ' at ' || v.timestamp || ' came ' || v.received_at"
           " FROM business_values v ORDER BY v.run_no, v.key",
};
static const struct db_query all_breakdowns = {
    .sql = "SELECT metric || ' by ' || COALESCE(full_dimensions, dimensions) || ' ' || cells"
           " || ' at ' || timestamp || ' came ' || received_at"
           " FROM business_breakdowns ORDER BY run_no, metric, dimensions",
};
static const struct db_query all_runs = {
    .sql = "SELECT agent_id || ' ' || run_id || ' ' || agent_version || ' '"
           " || COALESCE(workflow_run_id, 'null') || ' at ' || timestamp"
           " FROM business_runs ORDER BY run_no",
};
static const struct db_query declare = {
    .sql = "INSERT INTO kpis (tenant_id, agent_id, key, full_key, label, unit, agg)"
           " VALUES ($1, $2, $3, $4, 'L', 'count', 'sum')",
};
/* clang-format on */

static const struct business_rows *prepare(struct world *w, struct str body)
{
    struct business_rows *rows = ARENA_NEW(&w->arena, struct business_rows);

    business_prepare(world_read(w, &business_telemetry_shape, body), &w->arena, rows);
    return rows;
}

static void put_rows(struct world *w, const struct business_rows *rows, int64_t agent_id,
                     int64_t received_at)
{
    const struct report_key place = { w->tenant_id, agent_id, received_at, NULL };
    struct rollups *rollups = rollups_new();
    struct error err = { 0 };
    int64_t replaced;

    must(business_put(w->db, &place, rows, rollups, &replaced, &err), &err);
    must(rollups_settle(rollups, w->db, &err), &err);
    rollups_free(rollups);
}

/* A report of second `second` of 1970 with these members besides. */
static struct str body_at(struct world *w, int second, const char *members)
{
    return arena_printf(&w->arena, "{" HEAD ",\"timestamp\":\"1970-01-01T00:00:%02dZ\",%s}", second,
                        members);
}

static void put(struct world *w, int second, const char *members, int64_t received_at)
{
    put_rows(w, prepare(w, body_at(w, second, members)), w->agent_id, received_at);
}

struct merge {
    const char *about;
    struct {
        int second;
        const char *members;
    } reports[3]; /* in order of arrival */
    const char *values, *breakdowns;
};

#define CELLS(metric, by, points)                                                                  \
    "\"breakdowns\":[{\"metric\":\"" metric "\",\"by\":" by ",\"points\":" points "}]"

/* clang-format off */
static const struct merge merges[] = {
    { "another key joins",
      { { 1, "\"metrics\":{\"a\":1}" }, { 2, "\"metrics\":{\"b\":2}" } },
      "a integer 1 at 1000000 came 1\nb integer 2 at 2000000 came 2", "" },
    { "the newer replaces",
      { { 1, "\"metrics\":{\"a\":1,\"b\":1}" }, { 2, "\"metrics\":{\"a\":2.5}" } },
      "a real 2.5 at 2000000 came 2\nb integer 1 at 1000000 came 1", "" },
    { "the older comes late and changes nothing but what was missing",
      { { 2, "\"metrics\":{\"a\":2}" }, { 1, "\"metrics\":{\"a\":1,\"b\":1}" } },
      "a integer 2 at 2000000 came 1\nb integer 1 at 1000000 came 2", "" },
    { "of the same time the last to arrive stays",
      { { 1, "\"metrics\":{\"a\":1}" }, { 1, "\"metrics\":{\"a\":\"x\"}" } },
      "a text x at 1000000 came 2", "" },
    { "1 and 1.0 differ",
      { { 1, "\"metrics\":{\"a\":1}" }, { 1, "\"metrics\":{\"a\":1.0}" } },
      "a real 1.0 at 1000000 came 2", "" },
    { "a retry changes nothing, not even when it came",
      { { 1, "\"metrics\":{\"a\":1}," CELLS("a", "\"d\"", "[{\"d\":\"x\",\"value\":1}]") },
        { 1, "\"metrics\":{\"a\":1}," CELLS("a", "\"d\"", "[{\"d\":\"x\",\"value\":1}]") } },
      "a integer 1 at 1000000 came 1", "a by [\"d\"] [[\"x\",1.0]] at 1000000 came 1" },
    { "the same value at a later time counts there",
      { { 1, "\"metrics\":{\"a\":1}" }, { 2, "\"metrics\":{\"a\":1}" } },
      "a integer 1 at 2000000 came 2", "" },
    { "of two members of one name the last counts",
      { { 1, "\"metrics\":{\"a\":1,\"b\":2,\"a\":3}" } },
      "a integer 3 at 1000000 came 1\nb integer 2 at 1000000 came 1", "" },
    { "a newer breakdown replaces all cells of the older",
      { { 1, CELLS("m", "\"d\"", "[{\"d\":\"x\",\"value\":1},{\"d\":\"y\",\"value\":2}]") },
        { 2, CELLS("m", "\"d\"", "[{\"d\":\"z\",\"value\":3}]") } },
      "", "m by [\"d\"] [[\"z\",3.0]] at 2000000 came 2" },
    { "an older breakdown adds no cell to the newer",
      { { 2, CELLS("m", "\"d\"", "[{\"d\":\"z\",\"value\":3}]") },
        { 1, CELLS("m", "\"d\"", "[{\"d\":\"x\",\"value\":1}]") } },
      "", "m by [\"d\"] [[\"z\",3.0]] at 2000000 came 1" },
    { "an empty breakdown takes the cells away for good",
      { { 1, CELLS("m", "\"d\"", "[{\"d\":\"x\",\"value\":1}]") }, { 3, CELLS("m", "\"d\"", "[]") },
        { 2, CELLS("m", "\"d\"", "[{\"d\":\"y\",\"value\":1}]") } },
      "", "m by [\"d\"] [] at 3000000 came 2" },
    { "the order of the names in by does not matter",
      { { 1, CELLS("m", "[\"b\",\"a\"]", "[{\"a\":1,\"b\":\"x\",\"value\":1}]") },
        { 2, CELLS("m", "[\"a\",\"b\"]", "[{\"a\":2.5,\"b\":\"y\",\"value\":2}]") },
        { 1, CELLS("m", "[\"b\",\"a\",\"b\"]", "[{\"a\":3,\"b\":\"z\",\"value\":3}]") } },
      "", "m by [\"a\",\"b\"] [[2.5,\"y\",2.0]] at 2000000 came 2" },
    { "other dimensions and other metrics are other breakdowns",
      { { 2, CELLS("m", "\"a\"", "[{\"a\":1,\"value\":1}]") },
        { 1, CELLS("m", "[\"a\",\"b\"]", "[{\"a\":1,\"b\":\"\",\"value\":2}]") },
        { 1, CELLS("n", "[]", "[{\"value\":3}]") } },
      "", "m by [\"a\",\"b\"] [[1,\"\",2.0]] at 1000000 came 2\n"
          "m by [\"a\"] [[1,1.0]] at 2000000 came 1\n"
          "n by [] [[3.0]] at 1000000 came 3" },
    { "slices and points are cells alike",
      { { 1, "\"breakdowns\":[{\"metric\":\"m\",\"by\":\"d\",\"slices\":{\"x\\\"\":1,\"y\":2.5},"
             "\"points\":[{\"d\":7,\"value\":-1}]}]" } },
      "", "m by [\"d\"] [[\"x\\\"\",1.0],[\"y\",2.5],[7,-1.0]] at 1000000 came 1" },
    { "of two breakdowns of the same in one report the last stands",
      { { 1, "\"breakdowns\":[{\"metric\":\"m\",\"by\":\"d\",\"slices\":{\"x\":1}},"
             "{\"metric\":\"n\",\"by\":\"d\"},{\"metric\":\"m\",\"by\":[\"d\"],\"slices\":{\"y\":2}}]" } },
      "", "m by [\"d\"] [[\"y\",2.0]] at 1000000 came 1\nn by [\"d\"] [] at 1000000 came 1" },
};
/* clang-format on */

TEST(reports_are_merged_by_key)
{
    for (size_t i = 0; i < COUNT_OF(merges); i++) {
        const struct merge *m = &merges[i];
        struct world w;

        world_init(&w);
        for (int n = 0; n < 3 && m->reports[n].members != NULL; n++)
            put(&w, m->reports[n].second, m->reports[n].members, n + 1);
        if (!str_eq_c(world_rows(&w, &all_values, DB_NO_ARGS), m->values))
            print_error("%s\n", m->about);
        CHECK_STR(buf_str(&w.text), m->values);
        if (!str_eq_c(world_rows(&w, &all_breakdowns, DB_NO_ARGS), m->breakdowns))
            print_error("%s\n", m->about);
        CHECK_STR(buf_str(&w.text), m->breakdowns);
        world_done(&w);
    }
}

TEST(version_and_workflow_are_those_of_the_newest_report)
{
    struct world w;

    world_init(&w);
    put(&w, 2, "\"agent_version\":\"2\",\"workflow_run_id\":\"w\",\"metrics\":{\"k\":1}", 1);
    put(&w, 1, "\"agent_version\":\"1\",\"workflow_run_id\":\"v\"", 2);
    CHECK_STR(world_rows(&w, &all_runs, DB_NO_ARGS), "1 " RUN " 2 w at 2000000");
    put(&w, 3, "\"agent_version\":\"3\"", 3);
    CHECK_STR(world_rows(&w, &all_runs, DB_NO_ARGS), "1 " RUN " 3 null at 3000000");
    world_done(&w);
}

/* A name as long as `len` of which the last byte is `last`. */
static struct str long_name(struct world *w, size_t len, char last)
{
    char *name = arena_alloc(&w->arena, len + 1);

    memset(name, 'n', len);
    name[len - 1] = last;
    name[len] = '\0';
    return str_from(name, len);
}

TEST(undeclared_keys_are_told_in_the_order_of_the_report)
{
    static const struct {
        const char *metrics, *undeclared;
    } cases[] = {
        { "{}", "" },
        { "{\"b\":1}", "" },
        { "{\"z\":1,\"b\":2,\"a\":3,\"\":4}", "z|a||" },
        { "{\"\\\"\\u0001\\ud83d\\ude42\":1,\"y\":2}", "\"\001\360\237\231\202|y|" },
        { "{\"\\\\\\t\":1,\"b\":1}", "" },
        { "{\"y\":1,\"x\":2,\"y\":3}", "y|x|" },
    };
    struct world w;
    struct error err = { 0 };

    world_init(&w);
    for (int i = 0; i < 2; i++)
        must(db_exec(w.db, &declare,
                     DB_ARGS(db_int(w.tenant_id), db_int(w.agent_id),
                             db_text(i == 0 ? STR_LIT("b") : STR_LIT("\\\t")), db_null()),
                     NULL, NULL, &err),
             &err);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct report_key place = { w.tenant_id, w.agent_id, 1, NULL };
        struct str members = arena_printf(&w.arena, "\"metrics\":%s", cases[i].metrics);
        struct list undeclared;
        const struct str *names;

        must(business_undeclared(w.db, &place, prepare(&w, body_at(&w, 1, members.data)), &w.arena,
                                 &undeclared, &err),
             &err);
        buf_clear(&w.text);
        names = undeclared.items;
        for (size_t n = 0; n < undeclared.n; n++) {
            buf_add(&w.text, names[n]);
            buf_add_char(&w.text, '|');
        }
        CHECK_STR(buf_str(&w.text), cases[i].undeclared);
    }
    world_done(&w);
}

/* What is declared by one agent, or in another tenant, is not declared by all. */
TEST(a_declaration_holds_for_its_agent_alone)
{
    struct world w;
    struct error err = { 0 };
    struct str name;
    struct name_key key;

    world_init(&w);
    name = long_name(&w, 5000, 'x');
    key = store_name_key(name, &w.arena);
    must(db_exec(
             w.db, &declare,
             DB_ARGS(db_int(w.tenant_id), db_int(w.agent_id), db_text(key.key), db_text(key.full)),
             NULL, NULL, &err),
         &err);
    for (int i = 0; i < 3; i++) {
        const struct report_key place = { w.tenant_id + (i == 1), w.agent_id + (i == 2), 1, NULL };
        struct str members = arena_printf(&w.arena, "\"metrics\":{\"%s\":1}", name.data);
        struct list undeclared;

        must(business_undeclared(w.db, &place, prepare(&w, body_at(&w, 1, members.data)), &w.arena,
                                 &undeclared, &err),
             &err);
        CHECK_INT(undeclared.n, i == 0 ? 0 : 1);
    }
    world_done(&w);
}

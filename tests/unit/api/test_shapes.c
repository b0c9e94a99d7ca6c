/* test_shapes.c - the tables as a whole, their rules, and the answers they write. */
#include "all_shapes.h"

#include "features/access/shapes.h"
#include "features/agents/shapes.h"
#include "features/cost/usage.h"
#include "features/events/shapes.h"
#include "features/export/shapes.h"
#include "features/kpis/shapes.h"
#include "shape/problems.h"
#include "test.h"

#define RUN "3f2b8c1e-9a4d-4e6f-8b7a-0c1d2e3f4a5b"

enum { REQUESTS = SHAPE_BODY | SHAPE_QUERY | SHAPE_PATH, ANY_USE = REQUESTS | SHAPE_ANSWER };

static bool is_in(const struct schema_set *set, const struct shape *shape)
{
    for (size_t i = 0; i < set->n; i++)
        if (set->items[i] == shape)
            return true;
    return false;
}

TEST(shapes_are_collected_by_use_and_with_what_is_nested_in_them)
{
    struct schema_set bodies = { 0 }, answers = { 0 };

    all_shapes(SHAPE_BODY, &bodies);
    CHECK(is_in(&bodies, &agent_register_shape));
    CHECK(is_in(&bodies, &config_param_decl_shape)); /* two levels down */
    CHECK(!is_in(&bodies, &runs_query_shape));
    CHECK(!is_in(&bodies, &run_list_shape));
    all_shapes(SHAPE_ANSWER, &answers);
    CHECK(is_in(&answers, &stored_event_shape));
    CHECK(is_in(&answers, &error_answer_shape));
    CHECK(!is_in(&answers, &agent_register_shape));
}

TEST(shapes_are_collected_by_name_and_no_two_have_one_name)
{
    struct schema_set all = { 0 };

    all_shapes(ANY_USE, &all);
    for (size_t i = 1; i < all.n; i++)
        CHECK(strcmp(all.items[i - 1]->name, all.items[i]->name) < 0);
}

TEST(no_two_members_of_a_shape_have_one_name_or_place)
{
    struct schema_set all = { 0 };

    all_shapes(ANY_USE, &all);
    for (size_t s = 0; s < all.n; s++) {
        const struct field *fields = all.items[s]->fields;

        for (size_t i = 0; i < all.items[s]->n_fields; i++) {
            CHECK(fields[i].offset < all.items[s]->size);
            for (size_t j = 0; j < i; j++) {
                CHECK(strcmp(fields[i].name, fields[j].name) != 0);
                CHECK(fields[i].offset != fields[j].offset);
            }
        }
    }
}

/* A rule that no shape runs would check nothing. */
TEST(a_row_with_a_rule_is_a_text_of_a_shape_that_runs_it)
{
    struct schema_set all = { 0 };
    size_t shapes = 0;

    all_shapes(ANY_USE, &all);
    for (size_t s = 0; s < all.n; s++) {
        size_t rules = 0;

        for (size_t i = 0; i < all.items[s]->n_fields; i++) {
            rules += all.items[s]->fields[i].rule != NULL;
            CHECK(all.items[s]->fields[i].rule == NULL || all.items[s]->fields[i].type == T_STR);
        }
        CHECK((rules > 0) == all.items[s]->row_rules);
        shapes += rules > 0;
    }
    CHECK(shapes > 15);
}

/* A choice of a patch may only be left out, where null would be taken for one of the choices. */
static bool may_be_left_out(const struct shape *shape, const struct field *field)
{
    const struct str name = str_of(shape->name), patch = STR_LIT("Patch");

    return field->type == T_ENUM && name.len > patch.len &&
           str_eq(str_from(name.data + name.len - patch.len, patch.len), patch);
}

/* In a request a member is required, may be null, or has a default. */
TEST(every_member_of_a_request_can_be_absent_in_one_way_only)
{
    struct schema_set requests = { 0 };

    all_shapes(REQUESTS, &requests);
    for (size_t s = 0; s < requests.n; s++) {
        for (size_t i = 0; i < requests.items[s]->n_fields; i++) {
            const struct field *field = &requests.items[s]->fields[i];
            int ways = ((field->flags & F_REQUIRED) != 0) + (field->absent != NULL) +
                       ((field->flags & F_NULL) != 0);

            CHECK(ways == 1 || (ways == 0 && may_be_left_out(requests.items[s], field)));
            CHECK((field->flags & F_OMIT) == 0);
        }
    }
}

/* A shape that is also sent, such as a tenant's rules, is read by the rules of requests. */
TEST(every_member_of_an_answer_is_always_there_or_left_out_when_empty)
{
    struct schema_set requests = { 0 }, answers = { 0 };

    all_shapes(REQUESTS, &requests);
    all_shapes(SHAPE_ANSWER, &answers);
    for (size_t s = 0; s < answers.n; s++) {
        for (size_t i = 0; i < answers.items[s]->n_fields; i++) {
            int flags = answers.items[s]->fields[i].flags;

            CHECK(is_in(&requests, answers.items[s]) ||
                  ((flags & F_REQUIRED) != 0) != ((flags & (F_OMIT | F_OMIT_EMPTY)) != 0));
        }
    }
}

TEST(a_stored_event_has_the_fields_of_the_event_sent)
{
    size_t n = telemetry_event_shape.n_fields;

    CHECK_INT(stored_event_shape.n_fields, n + 2);
    for (size_t i = 0; i < n; i++) {
        const struct field *sent = &telemetry_event_shape.fields[i];
        const struct field *stored = &stored_event_shape.fields[i];

        CHECK_STR(str_of(stored->name), sent->name);
        CHECK_INT(stored->type, sent->type);
        CHECK_INT(stored->offset, sent->offset + offsetof(struct stored_event, event));
    }
    CHECK_STR(str_of(stored_event_shape.fields[n].name), "received_at");
    CHECK_STR(str_of(stored_event_shape.fields[n + 1].name), "clock_skewed");
}

/* Reads, and writes back what was read or what is wrong with it. */
static void check_read(const struct shape *shape, bool is_query, const char *text,
                       const char *expected)
{
    struct arena arena;
    struct problems *problems;
    struct buf out;
    void *value;
    int r;

    arena_init(&arena);
    buf_init(&out, MIB(1));
    problems = problems_new(&arena, is_query ? "query" : "body");
    value = arena_zalloc(&arena, shape->size);
    r = is_query ? shape_read_query(shape, str_of(text), &arena, value, problems)
                 : shape_read_json(shape, str_of(text), &arena, value, problems);
    if (r == 0)
        shape_write_json(shape, value, &out);
    else
        problems_write(problems, &out);
    CHECK_STR(buf_str(&out), expected);
    buf_done(&out);
    arena_done(&arena);
}

TEST(what_is_absent_from_a_body_has_the_contracts_default)
{
    check_read(&telemetry_event_shape, false,
               "{\"agent_name\":\"a\",\"client_id\":\"c\",\"run_id\":\"" RUN
               "\",\"event\":\"started\",\"timestamp\":\"2025-01-02T03:04:05Z\"}",
               "{\"event_id\":\"\",\"agent_name\":\"a\",\"agent_version\":\"\",\"client_id\":\"c\","
               "\"run_id\":\"" RUN
               "\",\"event\":\"started\",\"timestamp\":\"2025-01-02T03:04:05Z\","
               "\"duration_ms\":null,\"records_processed\":null,\"error_type\":null,"
               "\"error_message\":null,\"metadata\":{},\"output\":null,\"workflow_run_id\":null,"
               "\"message\":\"\",\"level\":\"info\",\"category\":\"\",\"source\":\"\",\"seq\":0,"
               "\"metrics\":{},\"links\":[]}");
    check_read(
        &agent_register_shape, false,
        "{\"agent_name\":\"a\",\"business_kpis\":[{\"key\":\"k\"}],\"inputs\":[{\"key\":"
        "\"i\"}],\"config_schema\":{\"params\":[{\"key\":\"p\",\"default\":\"d\"}]}}",
        "{\"agent_name\":\"a\",\"agent_version\":\"\",\"description\":\"\","
        "\"telemetry_doc\":\"\",\"business_kpis\":[{\"key\":\"k\",\"label\":\"\",\"unit\":"
        "\"count\",\"agg\":\"sum\"}],\"interval_seconds\":null,\"inputs\":[{\"key\":\"i\","
        "\"type\":\"any\",\"required\":true}],\"outputs\":[],\"config_schema\":{\"version\":1,"
        "\"params\":[{\"key\":\"p\",\"label\":\"\",\"value_type\":\"string\",\"required\":"
        "false,\"help\":\"\",\"default\":\"d\",\"opciones\":[],\"restart_required\":false}]}}");
    check_read(&tenant_create_shape, false, "{\"slug\":\"acme\"}",
               "{\"slug\":\"acme\",\"name\":\"\",\"max_agents\":100,\"rate_limit\":100,"
               "\"max_bytes\":0}");
    check_read(&key_create_shape, false, "{}",
               "{\"agent_name\":null,\"read_only\":false,\"label\":\"\",\"expires_at\":null}");
}

TEST(what_is_absent_from_a_query_has_its_default)
{
    check_read(
        &runs_query_shape, true, "",
        "{\"include_steps\":false,\"include_cost\":false,\"since\":null,\"until\":null,\"limit\":"
        "50,\"cursor\":null,"
        "\"agent_name\":null,\"status\":null,\"workflow_run_id\":null,\"agent_version\":null,"
        "\"error_type\":null,\"untyped\":false,\"q\":null,\"order\":\"started\",\"ascending\":"
        "false}");
    check_read(&runs_query_shape, true, "include_steps=true&since=24h&status=failed&limit=1000",
               "{\"include_steps\":true,\"include_cost\":false,\"since\":\"24h\",\"until\":null,"
               "\"limit\":1000,\"cursor\":"
               "null,\"agent_name\":null,\"status\":\"failed\",\"workflow_run_id\":null,"
               "\"agent_version\":null,\"error_type\":null,\"untyped\":false,\"q\":null,\"order\":"
               "\"started\","
               "\"ascending\":false}");
    check_read(&series_query_shape, true, "key=k",
               "{\"agent_name\":null,\"key\":\"k\",\"time_range\":\"30d\",\"bucket\":null}");
    check_read(&usage_query_shape, true, "",
               "{\"time_range\":\"30d\",\"group_by\":\"model\",\"agent_name\":null,"
               "\"run_id\":null,\"kpi\":null}");
    check_read(&export_query_shape, true, "",
               "{\"format\":\"ndjson\",\"time_range\":\"30d\",\"damaged\":\"fail\"}");
}

#define REPEATED(where, first)                                                                     \
    "{\"type\":\"value_error\",\"loc\":[\"body\"," where                                           \
    "],\"msg\":\"Value error, Should not repeat the key of element " first                         \
    "\",\"ctx\":{\"error\":\"Should not repeat the key of element " first "\"}}"

TEST(a_key_declared_twice_is_refused_at_its_second_place)
{
    check_read(&agent_register_shape, false,
               "{\"agent_name\":\"a\",\"business_kpis\":[{\"key\":\"x\"},{\"key\":\"k\"},"
               "{\"key\":\"k\"},{\"key\":\"K\"},{\"key\":\"k\"}]}",
               "{\"detail\":[" REPEATED("\"business_kpis\",2",
                                        "1") "," REPEATED("\"business_kpis\",4", "1") "]}");
    check_read(
        &agent_register_shape, false,
        "{\"agent_name\":\"a\",\"config_schema\":{\"params\":[{\"key\":\"\"},{\"key\":\"\"}]}}",
        "{\"detail\":[" REPEATED("\"config_schema\",\"params\",1", "0") "]}");
}

TEST(a_slug_is_words_joined_by_hyphens)
{
    static const struct {
        const char *slug;
        bool good;
    } rows[] = {
        { "a", true },     { "acme-2", true }, { "0", true },    { "a-b-c", true },
        { "", false },     { "-a", false },    { "a-", false },  { "a--b", false },
        { "Acme", false }, { "a_b", false },   { "a b", false }, { "\xc3\xa9", false },
        { "a.b", false },  { "a/b", false },   { "-", false },
    };
    char longest[SLUG_MAX + 1];

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        CHECK_INT(admin_is_slug(str_of(rows[i].slug)), rows[i].good);
    memset(longest, 'a', sizeof(longest));
    CHECK(admin_is_slug(str_from(longest, SLUG_MAX)));
    CHECK(!admin_is_slug(str_from(longest, SLUG_MAX + 1)));
    check_read(
        &tenant_create_shape, false, "{\"slug\":\"a\\\"\"}",
        "{\"detail\":[{\"type\":\"value_error\",\"loc\":[\"body\",\"slug\"],\"msg\":\"Value "
        "error, Should be lowercase letters and digits in words joined by single hyphens, at "
        "most 63 characters\",\"input\":\"a\\\"\",\"ctx\":{\"error\":\"Should be lowercase "
        "letters and digits in words joined by single hyphens, at most 63 characters\"}}]}");
}

/* How many problems a query has. */
TEST(the_grammars_of_a_query_are_checked_with_it)
{
    static const struct {
        const struct shape *shape;
        const char *query;
        size_t problems;
    } rows[] = {
        { &runs_query_shape, "since=yesterday&until=now", 2 },
        { &runs_query_shape, "since=", 1 },
        { &runs_query_shape, "status=open&limit=0", 2 },
        { &runs_query_shape, "limit=1001", 1 },
        { &summary_query_shape, "time_range=forever", 1 },
        { &summary_query_shape, "time_range=all", 0 },
        { &series_query_shape, "key=k&bucket=year&time_range=1y", 2 },
        { &series_query_shape, "bucket=day", 1 },
        { &breakdown_query_shape, "metric=m&by=a,b", 0 },
        { &breakdown_query_shape, "metric=m&by=a,,b", 1 },
        { &breakdown_query_shape, "metric=m&by=", 1 },
        { &breakdown_query_shape, "", 1 },
        { &usage_query_shape, "group_by=model,day", 0 },
        { &usage_query_shape, "group_by=month", 1 },
        { &export_query_shape, "format=xml", 1 },
        { &agent_query_shape, "agent_name=", 0 },
        { &agent_query_shape, "agent=a", 1 },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct arena arena;
        struct problems *problems;
        int r;

        arena_init(&arena);
        problems = problems_new(&arena, "query");
        r = shape_read_query(rows[i].shape, str_of(rows[i].query), &arena,
                             arena_zalloc(&arena, rows[i].shape->size), problems);
        CHECK_INT(problems->n, rows[i].problems);
        CHECK_INT(r, rows[i].problems == 0 ? 0 : -1);
        arena_done(&arena);
    }
}

static void check_written(const struct shape *shape, const void *value, const char *expected)
{
    struct buf out;

    buf_init(&out, MIB(1));
    shape_write_json(shape, value, &out);
    CHECK_STR(buf_str(&out), expected);
    buf_done(&out);
}

TEST(a_listed_run_has_steps_only_when_they_were_asked_for)
{
#define LISTED_RUN                                                                                 \
    "{\"runs\":[{\"run_id\":\"" RUN "\",\"agent_name\":\"a\",\"agent_version\":\"\","              \
    "\"workflow_run_id\":null,\"status\":\"in_progress\",\"started_at\":"                          \
    "\"1970-01-01T00:00:00Z\",\"ended_at\":null,\"duration_ms\":null,"                             \
    "\"records_processed\":null,\"error_type\":null,\"error_message\":null,"                       \
    "\"message\":\"\",\"event_count\":1,\"last_event_at\":\"1970-01-01T00:00:00Z\""
    struct stored_event none;
    struct run_listed run = { .run = { .run_id = STR_INIT(RUN),
                                       .agent_name = STR_INIT("a"),
                                       .agent_version = STR_INIT(""),
                                       .status = STR_INIT("in_progress"),
                                       .ended_at = TIME_NULL,
                                       .message = STR_INIT(""),
                                       .event_count = 1 } };
    struct run_list list = { .runs = { &run, 1 }, .examined_since = TIME_NULL };

    check_written(&run_list_shape, &list, LISTED_RUN "}],\"next\":null}");
    run.steps.items = &none; /* asked for, and there are none */
    check_written(&run_list_shape, &list, LISTED_RUN ",\"steps\":[]}],\"next\":null}");
}

/* test_breakdown.c - both forms of a breakdown end as rows, or are refused where they fail. */
#include "features/kpis/report_shapes.h"
#include "shape/problems.h"
#include "test.h"

/* The rows as JSON, or the problems. */
static void check_breakdown(const char *body, const char *expected)
{
    struct business_breakdown b = { 0 };
    struct arena arena;
    struct problems *problems;
    struct buf out;

    arena_init(&arena);
    buf_init(&out, MIB(1));
    problems = problems_new(&arena, "body");
    if (shape_read_json(&business_breakdown_shape, str_of(body), &arena, &b, problems) == 0) {
        const struct breakdown_row *rows = b.rows.items;

        for (size_t i = 0; i < b.rows.n; i++)
            shape_write_json(&breakdown_row_shape, &rows[i], &out);
    } else {
        problems_write(problems, &out);
    }
    CHECK_STR(buf_str(&out), expected);
    buf_done(&out);
    arena_done(&arena);
}

TEST(slices_become_rows_of_one_dimension)
{
    check_breakdown("{\"metric\":\"m\",\"by\":\"region\",\"slices\":{\"EU\":1,\"US\":2.5,\"\":-3}}",
                    "{\"dimensions\":{\"region\":\"EU\"},\"value\":1.0}"
                    "{\"dimensions\":{\"region\":\"US\"},\"value\":2.5}"
                    "{\"dimensions\":{\"region\":\"\"},\"value\":-3.0}");
}

TEST(slices_go_with_an_array_of_one_name)
{
    check_breakdown("{\"metric\":\"m\",\"by\":[\"region\"],\"slices\":{\"EU\":1}}",
                    "{\"dimensions\":{\"region\":\"EU\"},\"value\":1.0}");
}

TEST(points_become_rows_in_the_order_of_by)
{
    check_breakdown(
        "{\"metric\":\"m\",\"by\":[\"a\",\"b\"],\"points\":["
        "{\"b\":2,\"value\":3,\"a\":\"x\",\"other\":9},{\"a\":1.5,\"b\":\"\",\"value\":0}]}",
        "{\"dimensions\":{\"a\":\"x\",\"b\":2},\"value\":3.0}"
        "{\"dimensions\":{\"a\":1.5,\"b\":\"\"},\"value\":0.0}");
}

TEST(points_go_with_a_single_name)
{
    check_breakdown("{\"metric\":\"m\",\"by\":\"a\",\"points\":[{\"a\":\"x\",\"value\":1}]}",
                    "{\"dimensions\":{\"a\":\"x\"},\"value\":1.0}");
}

TEST(a_repeated_dimension_counts_once)
{
    check_breakdown("{\"metric\":\"m\",\"by\":[\"a\",\"a\"],\"slices\":{\"x\":1},"
                    "\"points\":[{\"a\":\"y\",\"value\":2}]}",
                    "{\"dimensions\":{\"a\":\"x\"},\"value\":1.0}"
                    "{\"dimensions\":{\"a\":\"y\"},\"value\":2.0}");
}

TEST(no_dimensions_and_no_values_are_fine)
{
    check_breakdown("{\"metric\":\"m\",\"by\":[]}", "");
    check_breakdown("{\"metric\":\"m\",\"by\":[\"a\",\"b\"],\"slices\":{},\"points\":[]}", "");
    check_breakdown("{\"metric\":\"m\",\"by\":[],\"points\":[{\"value\":1}]}",
                    "{\"dimensions\":{},\"value\":1.0}");
}

TEST(slices_of_several_dimensions_are_refused_at_the_slices)
{
    check_breakdown(
        "{\"metric\":\"m\",\"by\":[\"a\",\"b\"],\"slices\":{\"x\":1}}",
        "{\"detail\":[{\"type\":\"value_error\",\"loc\":[\"body\",\"slices\"],\"msg\":\"Value "
        "error, "
        "Slices need exactly one name in 'by'; use points for several\",\"input\":{\"x\":1},"
        "\"ctx\":{\"error\":\"Slices need exactly one name in 'by'; use points for several\"}}]}");
}

TEST(each_point_that_lacks_something_is_refused_at_its_place)
{
    check_breakdown(
        "{\"metric\":\"m\",\"by\":[\"a\",\"b\"],\"points\":[{\"a\":1,\"b\":2,\"value\":3},"
        "{\"a\":1,\"value\":2.5},{\"a\":1,\"b\":2,\"value\":\"3\"}]}",
        "{\"detail\":[{\"type\":\"value_error\",\"loc\":[\"body\",\"points\",1],\"msg\":\"Value "
        "error, "
        "The point has no entry for dimension 'b'\",\"input\":{\"a\":1,\"value\":2.5},"
        "\"ctx\":{\"error\":\"The point has no entry for dimension 'b'\"}},"
        "{\"type\":\"value_error\",\"loc\":[\"body\",\"points\",2],\"msg\":\"Value error, "
        "The point has no number named 'value'\",\"input\":{\"a\":1,\"b\":2,\"value\":\"3\"},"
        "\"ctx\":{\"error\":\"The point has no number named 'value'\"}}]}");
}

/* The place in the report goes before the place in the breakdown. */
TEST(the_path_of_a_problem_begins_at_the_body)
{
    static const char body[] = "{\"agent_name\":\"a\",\"timestamp\":\"2025-01-02T03:04:05Z\","
                               "\"run_id\":\"3f2b8c1e-9a4d-4e6f-8b7a-0c1d2e3f4a5b\","
                               "\"breakdowns\":[{\"metric\":\"m\",\"by\":\"a\"},"
                               "{\"metric\":\"m\",\"by\":\"a\",\"points\":[{}]}]}";
    struct business_telemetry report = { 0 };
    struct arena arena;
    struct problems *problems;
    struct buf out;

    arena_init(&arena);
    buf_init(&out, MIB(1));
    problems = problems_new(&arena, "body");
    CHECK(shape_read_json(&business_telemetry_shape, STR_LIT(body), &arena, &report, problems) ==
          -1);
    problems_write(problems, &out);
    CHECK_STR(buf_str(&out),
              "{\"detail\":[{\"type\":\"value_error\",\"loc\":[\"body\",\"breakdowns\",1,"
              "\"points\",0],\"msg\":\"Value error, The point has no entry for dimension 'a'\","
              "\"input\":{},\"ctx\":{\"error\":\"The point has no entry for dimension 'a'\"}}]}");
    buf_done(&out);
    arena_done(&arena);
}

/* Many names and many points: refused or not, in time that grows with the body alone. */
TEST(a_breakdown_costs_no_more_than_its_size)
{
    struct business_breakdown b = { 0 };
    struct arena arena;
    struct problems *problems;
    struct buf body;

    arena_init(&arena);
    buf_init(&body, MIB(8));
    buf_add_c(&body, "{\"metric\":\"m\",\"by\":[\"n0\"");
    for (int i = 1; i < 100000; i++)
        buf_printf(&body, ",\"n%d\"", i);
    buf_add_c(&body, "],\"points\":[{}");
    for (int i = 1; i < 1000; i++)
        buf_add_c(&body, ",{\"n0\":1,\"value\":1}");
    buf_add_c(&body, "]}");
    problems = problems_new(&arena, "body");
    CHECK(shape_read_json(&business_breakdown_shape, buf_str(&body), &arena, &b, problems) == -1);
    CHECK_INT(problems_count(problems), PROBLEMS_MAX);
    CHECK(arena.total < MIB(64));
    buf_done(&body);
    arena_done(&arena);
}

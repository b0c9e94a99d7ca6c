/* test_breakdown.c - both forms of a breakdown end as rows, or are refused where they fail. */
#include "features/kpis/shapes.h"
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
    CHECK_INT(problems->n, PROBLEMS_MAX);
    CHECK(arena.total < MIB(64));
    buf_done(&body);
    arena_done(&arena);
}

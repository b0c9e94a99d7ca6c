/* fuzz_query.c - any bytes as a query string, or as the parameters of a path. */
#include <yyjson.h>

#include "../all_shapes.h"
#include "fuzz.h"
#include "shape/problems.h"
#include "shape/timerange.h"

/* Of queries, and of queries and paths together. */
static struct schema_set queries, shapes;

static bool is_of_query(const struct shape *shape)
{
    for (size_t i = 0; i < queries.n; i++)
        if (queries.items[i] == shape)
            return true;
    return false;
}

/* The input cut at NUL bytes gives the segments of the path that are its parameters. */
static int read_path(const struct shape *shape, struct str input, struct arena *arena, void *value,
                     struct problems *problems)
{
    struct str *names = ARENA_ARRAY(arena, struct str, shape->n_fields);
    struct str *values = ARENA_ARRAY(arena, struct str, shape->n_fields);
    size_t n = 0;

    while (n < shape->n_fields && !str_is_null(input)) {
        names[n] = str_of(shape->fields[n].name);
        values[n++] = shape_decode_segment(str_split(&input, '\0'), arena);
    }
    return shape_read_path(shape, &(struct path_values){ names, values, n }, arena, value,
                           problems);
}

/* A range that is accepted begins before it ends, and has a bucket. */
static void check_range(struct str text)
{
    const int64_t now = 1767225600000000; /* 2026-01-01 */
    struct time_range range, before;

    if (timerange_parse(text, now, &range) != NULL)
        return;
    FUZZ_CHECK(range.since <= range.until);
    if (timerange_previous(&range, &before)) {
        FUZZ_CHECK(before.until - before.since == range.until - range.since);
        FUZZ_CHECK(timerange_count_buckets(&range, timerange_choose_bucket(&range)) >= 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = str_from((const char *)data, size);
    const struct shape *shape;
    bool is_query;
    struct arena arena;
    struct problems *problems;
    yyjson_doc *doc;
    struct buf out;
    void *value;
    int r;

    if (shapes.n == 0) {
        all_shapes(SHAPE_QUERY, &queries);
        all_shapes(SHAPE_QUERY | SHAPE_PATH, &shapes);
    }
    shape = fuzz_pick_shape(&input, &shapes);
    is_query = is_of_query(shape);
    arena_init(&arena);
    buf_init(&out, MIB(64));
    problems = problems_new(&arena, is_query ? "query" : "path");
    value = arena_zalloc(&arena, shape->size);
    r = is_query ? shape_read_query(shape, input, &arena, value, problems)
                 : read_path(shape, input, &arena, value, problems);
    FUZZ_CHECK((r == 0) == (problems->n == 0));
    if (r == 0)
        shape_write_json(shape, value, &out);
    else
        problems_write(problems, &out);
    doc = yyjson_read(out.data, out.len, 0);
    FUZZ_CHECK(doc != NULL);
    yyjson_doc_free(doc);
    check_range(input);
    buf_done(&out);
    arena_done(&arena);
    return 0;
}

/* fuzz_json.c - any bytes as a request body: refused with a reason, or stable when written. */
#include <yyjson.h>

#include "../all_shapes.h"
#include "fuzz.h"
#include "shape/problems.h"

static void check_is_json(const struct buf *text)
{
    yyjson_doc *doc = yyjson_read(text->data, text->len, YYJSON_READ_NUMBER_AS_RAW);

    FUZZ_CHECK(doc != NULL);
    yyjson_doc_free(doc);
}

/* Accepted: writes it into `ret` and returns true. Refused: says why, in JSON. */
static bool read_and_write(const struct shape *shape, struct str body, struct buf *ret)
{
    struct arena arena;
    struct problems *problems;
    void *value;
    bool accepted;

    arena_init(&arena);
    problems = problems_new(&arena, "body");
    value = arena_zalloc(&arena, shape->size);
    accepted = shape_read_json(shape, body, &arena, value, problems) == 0;
    FUZZ_CHECK(accepted == (problems->n == 0));
    if (accepted)
        shape_write_json(shape, value, ret);
    else
        problems_write(problems, ret);
    FUZZ_CHECK(!ret->overflown);
    check_is_json(ret);
    arena_done(&arena);
    return accepted;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str body = str_from((const char *)data, size);
    static struct schema_set bodies;
    const struct shape *shape;
    struct buf once, twice;

    if (bodies.n == 0)
        all_shapes(SHAPE_BODY, &bodies);
    shape = fuzz_pick_shape(&body, &bodies);
    buf_init(&once, MIB(64));
    buf_init(&twice, MIB(64));
    if (read_and_write(shape, body, &once)) {
        FUZZ_CHECK(read_and_write(shape, buf_str(&once), &twice));
        FUZZ_CHECK(str_eq(buf_str(&once), buf_str(&twice)));
    }
    buf_done(&once);
    buf_done(&twice);
    return 0;
}

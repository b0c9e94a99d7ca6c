/* fuzz_prices.c - any bytes as a price file: refused with a reason, or entries with a model. */
#include "features/cost/price_shapes.h"
#include "fuzz.h"
#include "shape/problems.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = str_from((const char *)data, size);
    struct price_import import = { .format = (int)fuzz_pick(&input, 2), .valid_from = TIME_NULL };
    const struct price_create *entries;
    struct problems *problems;
    struct arena arena;
    struct buf out;

    arena_init(&arena);
    buf_init(&out, MIB(64));
    problems = problems_new(&arena, "body");
    import.prices = input;
    price_file_read(&import, &arena, problems);
    entries = import.entries.items;
    for (size_t i = 0; problems->n == 0 && i < import.entries.n; i++)
        FUZZ_CHECK(entries[i].model.len > 0 && entries[i].model.len <= 256);
    FUZZ_CHECK(import.skipped >= 0);
    problems_write(problems, &out);
    FUZZ_CHECK(!out.overflown);
    buf_done(&out);
    arena_done(&arena);
    return 0;
}

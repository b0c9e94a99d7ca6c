/* test_id_sort.c - the order of ids, whatever their number and their hashes. */
#include "features/events/ids/id_table.h"

#include <stdlib.h>

#include "test.h"
#include "unit/random.h"

/* Sorted, and the numbers are the same ones: each entry has its own, from 1. */
static void check_sorted(const struct id_entry *entries, size_t n)
{
    struct id_entry *sorted = calloc(n + 1, sizeof(*sorted));
    bool *seen = calloc(n + 1, sizeof(*seen));

    id_sort(entries, n, sorted);
    for (size_t i = 0; i < n; i++) {
        const size_t number = (size_t)sorted[i].number;

        CHECK(i == 0 || sorted[i - 1].hash <= sorted[i].hash);
        CHECK(number >= 1 && number <= n && !seen[number]);
        CHECK(entries[number - 1].hash == sorted[i].hash);
        seen[number] = true;
    }
    CHECK_INT(sorted[n].number, 0); /* nothing is written behind them */
    free(sorted);
    free(seen);
}

TEST(ids_are_sorted_whatever_their_number)
{
    static const size_t counts[] = { 0, 1, 2, 3, 63, 64, 65, 1000, 131072, 300000 };
    struct random random = { 7 };

    for (size_t c = 0; c < COUNT_OF(counts); c++) {
        struct id_entry *entries = calloc(counts[c] + 1, sizeof(*entries));

        for (size_t i = 0; i < counts[c]; i++)
            entries[i] = (struct id_entry){ random_next(&random), (int64_t)i + 1 };
        check_sorted(entries, counts[c]);
        free(entries);
    }
}

TEST(hashes_that_are_not_uniform_are_sorted_too)
{
    enum { N = 5000 };
    static const uint64_t masks[] = { 0, 1, 0xff, UINT64_MAX << 62, 0x00ffff0000000000 };
    static struct id_entry entries[N];
    struct random random = { 8 };

    for (size_t m = 0; m < COUNT_OF(masks); m++) {
        for (size_t i = 0; i < N; i++)
            entries[i] = (struct id_entry){ random_next(&random) & masks[m], (int64_t)i + 1 };
        check_sorted(entries, N);
    }
}

/* id_sort.c - sorts by the first bits of the hashes into short runs, and each of those. */
#include "features/events/ids/id_sort.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

enum {
    PART_ENTRIES = 4,   /* expected per part */
    PART_LONG = 64,     /* longer ones mean that the hashes are not uniform */
    PART_BITS_MAX = 16, /* of the hash: their counters still fit the processor's cache */
};

static int by_hash(const void *a, const void *b)
{
    const struct id_entry *x = a, *y = b;

    return x->hash < y->hash ? -1 : x->hash > y->hash;
}

static void sort_part(struct id_entry *entries, size_t n)
{
    if (n > PART_LONG) {
        qsort(entries, n, sizeof(*entries), by_hash);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        const struct id_entry entry = entries[i];
        size_t to = i;

        for (; to > 0 && entries[to - 1].hash > entry.hash; to--)
            entries[to] = entries[to - 1];
        entries[to] = entry;
    }
}

void id_sort(const struct id_entry *entries, size_t n, struct id_entry *ret)
{
    unsigned bits = 1;
    size_t *ends, begin = 0, sum = 0;

    while (bits < PART_BITS_MAX && (n >> bits) > PART_ENTRIES)
        bits++;
    ends = mem_new(((size_t)1 << bits) * sizeof(*ends)); /* zeros */
    for (size_t i = 0; i < n; i++)
        ends[entries[i].hash >> (64 - bits)]++;
    for (size_t part = 0; part < (size_t)1 << bits; part++) { /* where each part begins */
        const size_t count = ends[part];

        ends[part] = sum;
        sum += count;
    }
    assert(sum == n);
    for (size_t i = 0; i < n; i++) /* a part's beginning becomes its end */
        ret[ends[entries[i].hash >> (64 - bits)]++] = entries[i];
    for (size_t part = 0; part < (size_t)1 << bits; part++) {
        sort_part(ret + begin, ends[part] - begin);
        begin = ends[part];
    }
    free(ends);
}

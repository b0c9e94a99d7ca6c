/* id_table.c - open addressing, and sorting by parts; the hashes are uniform already. */
#include "features/events/ids/id_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void id_table_done(struct id_table *t)
{
    free(t->slots);
    *t = (struct id_table){ 0 };
}

void id_table_clear(struct id_table *t)
{
    if (t->n > 0)
        memset(t->slots, 0, t->capacity * sizeof(*t->slots));
    t->n = 0;
}

static void insert(struct id_table *t, struct id_entry entry)
{
    size_t i = entry.hash & (t->capacity - 1);

    assert(t->n < t->capacity); /* else no slot is free, and the search does not end */
    while (t->slots[i].number != 0)
        i = (i + 1) & (t->capacity - 1);
    t->slots[i] = entry;
}

void id_table_add(struct id_table *t, uint64_t hash, int64_t number)
{
    if (t->n * 2 >= t->capacity) {
        struct id_table old = *t;

        t->capacity = old.capacity == 0 ? 64 : old.capacity * 2;
        t->slots = mem_new(t->capacity * sizeof(*t->slots));
        for (size_t i = 0; i < old.capacity; i++)
            if (old.slots[i].number != 0)
                insert(t, old.slots[i]);
        free(old.slots);
    }
    assert((t->capacity & (t->capacity - 1)) == 0);
    insert(t, (struct id_entry){ hash, number });
    t->n++;
}

int64_t id_table_next(const struct id_table *t, uint64_t hash, size_t *at)
{
    if (t->n == 0)
        return 0;
    for (;;) {
        const struct id_entry *slot = &t->slots[(hash + *at) & (t->capacity - 1)];

        if (slot->number == 0)
            return 0;
        ++*at;
        if (slot->hash == hash)
            return slot->number;
    }
}

void id_table_copy(const struct id_table *t, struct id_entry *ret)
{
    size_t n = 0;

    for (size_t i = 0; i < t->capacity; i++)
        if (t->slots[i].number != 0)
            ret[n++] = t->slots[i];
    assert(n <= t->n); /* the room that the caller made */
}

/* --- sorting: by the first bits of the hashes into short parts, and each of those --- */

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

/* id_table.c - open addressing; the hashes are uniform already. */
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

/* map.c - open addressing with linear probing; removal shifts back, so there are no tombstones. */
#include "base/map.h"

#include <stdlib.h>

#include "base/digest.h"
#include "base/mem.h"

struct map_slot {
    uint64_t hash;
    struct str key;
    void *value; /* NULL: free */
};

void map_init(struct map *m)
{
    *m = (struct map){ 0 };
}

void map_done(struct map *m)
{
    if (m == NULL)
        return;
    free(m->slots);
    map_init(m);
}

/* The slot of `key`, or the free one where it would go. */
static size_t find(const struct map *m, uint64_t hash, struct str key)
{
    size_t mask = m->capacity - 1;
    size_t i = hash & mask;

    while (m->slots[i].value != NULL && !(m->slots[i].hash == hash && str_eq(m->slots[i].key, key)))
        i = (i + 1) & mask;
    return i;
}

static void grow(struct map *m)
{
    struct map old = *m;

    m->capacity = old.capacity == 0 ? 16 : old.capacity * 2;
    m->slots = mem_new(m->capacity * sizeof(*m->slots));
    for (size_t i = 0; i < old.capacity; i++)
        if (old.slots[i].value != NULL)
            m->slots[find(m, old.slots[i].hash, old.slots[i].key)] = old.slots[i];
    free(old.slots);
}

void *map_get(const struct map *m, struct str key)
{
    return m->n == 0 ? NULL : m->slots[find(m, digest_sip(key), key)].value;
}

void *map_put(struct map *m, struct str key, void *value)
{
    uint64_t hash = digest_sip(key);
    struct map_slot *slot;
    void *before;

    if (m->n * 4 >= m->capacity * 3)
        grow(m);
    slot = &m->slots[find(m, hash, key)];
    before = slot->value;
    m->n += before == NULL;
    *slot = (struct map_slot){ hash, key, value };
    return before;
}

void *map_remove(struct map *m, struct str key)
{
    size_t mask = m->capacity - 1;
    size_t hole, i;
    void *value;

    if (m->n == 0)
        return NULL;
    hole = find(m, digest_sip(key), key);
    value = m->slots[hole].value;
    if (value == NULL)
        return NULL;
    for (i = (hole + 1) & mask; m->slots[i].value != NULL; i = (i + 1) & mask) {
        size_t home = m->slots[i].hash & mask;

        if (((i - home) & mask) >= ((i - hole) & mask)) { /* may stand in the hole */
            m->slots[hole] = m->slots[i];
            hole = i;
        }
    }
    m->slots[hole] = (struct map_slot){ 0 };
    m->n--;
    return value;
}

void *map_next(const struct map *m, size_t *at)
{
    while (*at < m->capacity) {
        void *value = m->slots[(*at)++].value;

        if (value != NULL)
            return value;
    }
    return NULL;
}

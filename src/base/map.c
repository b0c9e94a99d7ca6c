/* map.c - open addressing with linear probing; removal shifts back, so there are no tombstones. */
#include "base/map.h"

#include <assert.h>
#include <stdlib.h>

#include "base/digest.h"
#include "base/mem.h"

/* Small, because a registry has hundreds of thousands of them; keys are shorter than 4 GiB. */
struct map_slot {
    uint32_t hash, len;
    const char *key;
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
static size_t find(const struct map *m, uint32_t hash, struct str key)
{
    size_t mask = m->capacity - 1;
    size_t i = hash & mask;

    while (m->slots[i].value != NULL &&
           !(m->slots[i].hash == hash && str_eq(str_from(m->slots[i].key, m->slots[i].len), key)))
        i = (i + 1) & mask;
    return i;
}

static uint32_t hash_of(struct str key)
{
    assert(key.len <= UINT32_MAX);
    return (uint32_t)digest_sip(key);
}

static void grow(struct map *m)
{
    struct map old = *m;

    m->capacity = old.capacity == 0 ? 16 : old.capacity * 2;
    m->slots = mem_new(m->capacity * sizeof(*m->slots));
    for (size_t i = 0; i < old.capacity; i++)
        if (old.slots[i].value != NULL)
            m->slots[find(m, old.slots[i].hash, str_from(old.slots[i].key, old.slots[i].len))] =
                old.slots[i];
    free(old.slots);
}

void *map_get(const struct map *m, struct str key)
{
    return m->n == 0 ? NULL : m->slots[find(m, hash_of(key), key)].value;
}

void *map_put(struct map *m, struct str key, void *value)
{
    uint32_t hash = hash_of(key);
    struct map_slot *slot;
    void *before;

    if (m->n * 16 >= m->capacity * 13)
        grow(m);
    slot = &m->slots[find(m, hash, key)];
    before = slot->value;
    m->n += before == NULL;
    *slot = (struct map_slot){ hash, (uint32_t)key.len, key.data, value };
    return before;
}

void *map_remove(struct map *m, struct str key)
{
    size_t mask = m->capacity - 1;
    size_t hole, i;
    void *value;

    if (m->n == 0)
        return NULL;
    hole = find(m, hash_of(key), key);
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

/* cache.c - the part of the statement cache that runs seldom. */
#include "db/cache.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

enum { CAPACITY_MIN = 64 };

static void insert(struct db_cache *cache, const struct db_query *query, void *statement)
{
    size_t mask = cache->capacity - 1;
    size_t at = db_cache_hash(query) & mask;

    assert((cache->capacity & mask) == 0); /* a power of two */
    while (cache->slots[at].query != NULL)
        at = (at + 1) & mask;
    cache->slots[at] = (struct db_cache_slot){ query, statement };
}

static void grow(struct db_cache *cache)
{
    struct db_cache old = *cache;

    cache->capacity = old.capacity == 0 ? CAPACITY_MIN : old.capacity * 2;
    cache->slots = mem_new(cache->capacity * sizeof(*cache->slots));
    for (size_t i = 0; i < old.capacity; i++)
        if (old.slots[i].query != NULL)
            insert(cache, old.slots[i].query, old.slots[i].statement);
    free(old.slots);
}

void db_cache_put(struct db_cache *cache, const struct db_query *query, void *statement)
{
    assert(db_cache_get(cache, query) == NULL);
    if (cache->n * 2 >= cache->capacity)
        grow(cache);
    assert(cache->n < cache->capacity); /* else a lookup of what is absent would not end */
    insert(cache, query, statement);
    cache->n++;
}

void db_cache_done(struct db_cache *cache, void (*statement_free)(void *statement))
{
    for (size_t i = 0; i < cache->capacity; i++)
        if (cache->slots[i].query != NULL)
            statement_free(cache->slots[i].statement);
    free(cache->slots);
    *cache = (struct db_cache){ 0 };
}

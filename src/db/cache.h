/* cache.h - prepared statements by the address of their query; private to this folder.
 *
 * Queries are static, so an address identifies one for good, and their number is
 * fixed at build time: the cache never evicts.
 *
 * One thread at a time, as its connection.
 */
#pragma once
#include "base/base.h"

struct db_query;

struct db_cache_slot {
    const struct db_query *query; /* NULL: free */
    void *statement;
};

struct db_cache {
    struct db_cache_slot *slots;
    size_t n, capacity; /* capacity is 0 or a power of two, at least half of it free */
};

/* Fibonacci hashing: the product's upper half depends on every bit of the address. */
static inline size_t db_cache_hash(const struct db_query *query)
{
    return (size_t)(((uint64_t)(uintptr_t)query * 0x9e3779b97f4a7c15U) >> 32);
}

/* NULL when absent. Inline: it runs once for every row that is stored. */
static inline void *db_cache_get(const struct db_cache *cache, const struct db_query *query)
{
    size_t mask = cache->capacity - 1;

    if (cache->capacity == 0)
        return NULL;
    for (size_t at = db_cache_hash(query) & mask;; at = (at + 1) & mask) {
        const struct db_cache_slot *slot = &cache->slots[at];

        if (slot->query == query)
            return slot->statement;
        if (slot->query == NULL)
            return NULL;
    }
}

/* Adds a query that is absent. */
void db_cache_put(struct db_cache *cache, const struct db_query *query, void *statement);

/* Frees the table after `statement_free` was called for each statement. */
void db_cache_done(struct db_cache *cache, void (*statement_free)(void *statement));

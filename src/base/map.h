/* map.h - a hash table from bytes to a pointer.
 *
 * Keyed hashing (SipHash with a secret of the process): a client that chooses
 * the keys cannot make them collide. Keys are borrowed: they must live as long
 * as their entry, normally inside the value.
 *
 * One thread at a time; digest_init() first.
 */
#pragma once
#include <stdbool.h>

#include "base/base.h"
#include "base/str.h"

struct map_slot;

struct map {
    struct map_slot *slots;
    size_t n, capacity; /* capacity is 0 or a power of two */
};

void map_init(struct map *m);

/* Frees the table, not the values. NULL is fine. */
void map_done(struct map *m);

/* NULL when absent. */
void *map_get(const struct map *m, struct str key);

/* Adds or replaces; returns the value that was there before, or NULL. `value` is not NULL. */
void *map_put(struct map *m, struct str key, void *value);

/* Removes and returns the value, or NULL. */
void *map_remove(struct map *m, struct str key);

/* Walks all entries in no order: start with *at = 0; NULL at the end. Do not change the map
 * meanwhile. */
void *map_next(const struct map *m, size_t *at);

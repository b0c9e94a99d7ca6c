/* id_table.h - hashes and their numbers in memory, as a table or sorted; private to this folder.
 *
 * Several numbers may have the same hash: compare the ids.
 *
 * One thread at a time.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct id_entry {
    uint64_t hash;
    int64_t number; /* 0: a free slot of a table */
};

struct id_table {
    struct id_entry *slots;
    size_t n, capacity; /* capacity is 0 or a power of two */
};

/* Frees the memory; an empty table is { 0 }. */
void id_table_done(struct id_table *t);

/* Removes all entries; keeps the memory. */
void id_table_clear(struct id_table *t);

void id_table_add(struct id_table *t, uint64_t hash, int64_t number);

/* The numbers with this hash, one per call: start with *at = 0; returns 0 at the end. */
int64_t id_table_next(const struct id_table *t, uint64_t hash, size_t *at);

/* Copies all entries to `ret` (space for t->n), in no order. */
void id_table_copy(const struct id_table *t, struct id_entry *ret);

/* Writes the `n` entries in the order of their hashes, which are uniform, to `ret`, which does not
 * overlap them. */
void id_sort(const struct id_entry *entries, size_t n, struct id_entry *ret);

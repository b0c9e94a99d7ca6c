/* id_filter.h - a blocked Bloom filter: a lookup reads one cache line.
 *
 * Private to this folder. About 1 in 1,400 lookups is a false positive,
 * which costs a page of the database; a large store has some 25 filters.
 *
 * Its bits are on the heap while it is filled; a complete one may lie in a file
 * that is mapped (id_filter_file.h), so that the memory is the system's to take
 * back.
 *
 * One thread at a time while being filled; complete, any number of threads.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct id_filter_file;

enum { ID_FILTER_BLOCK_BYTES = 64 };

struct id_filter {
    uint64_t *words; /* NULL: they are in the file */
    size_t n_blocks; /* of ID_FILTER_BLOCK_BYTES */
    struct id_filter_file *file;
};

/* For up to `n` hashes. */
void id_filter_init(struct id_filter *f, size_t n);

/* From stored bytes: id_filter_size() bytes of `words`; copied. False when the size is not valid
 * for a filter. */
bool id_filter_load(struct id_filter *f, const void *bytes, size_t size);

void id_filter_done(struct id_filter *f);

size_t id_filter_size(const struct id_filter *f);
void id_filter_add(struct id_filter *f, uint64_t hash);

/* False: certainly not one of those added. */
bool id_filter_maybe(const struct id_filter *f, uint64_t hash);

/* Prefetches the memory that id_filter_maybe() reads; for several filters in parallel. */
void id_filter_fetch(const struct id_filter *f, uint64_t hash);

/* id_filter.h - a blocked Bloom filter: a lookup reads one cache line.
 *
 * Private to this folder. About 1 in 1,300 lookups is a false positive, which costs a page of the
 * database; a large store has some 25 filters.
 *
 * Its row in the database is the truth. A filter is on the heap while it is filled; a large one
 * that is complete is also in a file that is mapped, so that a start needs not read it, and the
 * system may drop its pages and read them again. So each block of a mapped filter has a checksum,
 * which every lookup verifies: a damaged block rules nothing out, and no answer depends on the
 * file. A page that cannot be read at all ends the process, like an unreadable page of the
 * database.
 *
 * One thread at a time while being filled; complete, any number of threads.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct id_filter {
    uint64_t *words; /* blocks; NULL: not loaded */
    size_t n_blocks;
    bool mapped;
    uint32_t tag;        /* of a mapped one: whose it is; part of each block's checksum */
    atomic_bool damaged; /* a lookup has found a bad block */
};

/* For up to `n` hashes. */
void id_filter_init(struct id_filter *f, size_t n);

/* From stored bytes: id_filter_size() bytes of `words`; copied. False when the size is not valid
 * for a filter. */
bool id_filter_load(struct id_filter *f, const void *bytes, size_t size);

/* Maps the file as a filter of `size` bytes. False when it is missing or another one's. */
bool id_filter_map(struct id_filter *f, const char *path, size_t size, uint32_t tag);

/* Writes the filter to a new file, durably, and maps that instead. False: it stays on the heap. */
bool id_filter_move(struct id_filter *f, const char *path, uint32_t tag);

void id_filter_done(struct id_filter *f);

size_t id_filter_size(const struct id_filter *f);
void id_filter_add(struct id_filter *f, uint64_t hash);

/* False: certainly not one of those added. */
bool id_filter_maybe(struct id_filter *f, uint64_t hash);

/* Prefetches the memory that id_filter_maybe() reads; for several filters in parallel. */
void id_filter_fetch(const struct id_filter *f, uint64_t hash);

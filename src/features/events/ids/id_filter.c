/* id_filter.c - all bits of a hash are in one block of 64 bytes. */
#include "features/events/ids/id_filter.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "features/events/ids/id_filter_file.h"

/* A filter that is read may have fewer bits per id (they were 12), but not other probes. */
enum { BLOCK_BITS = 512, BLOCK_WORDS = 8, BITS_PER_ID = 20, PROBES = 6 };

static void allocate(struct id_filter *f, size_t n_blocks)
{
    *f = (struct id_filter){ .words = mem_new(n_blocks * ID_FILTER_BLOCK_BYTES),
                             .n_blocks = n_blocks };
}

void id_filter_init(struct id_filter *f, size_t n)
{
    allocate(f, n * BITS_PER_ID / BLOCK_BITS + 1);
}

bool id_filter_load(struct id_filter *f, const void *bytes, size_t size)
{
    if (size == 0 || size % ID_FILTER_BLOCK_BYTES != 0)
        return false;
    allocate(f, size / ID_FILTER_BLOCK_BYTES);
    memcpy(f->words, bytes, size);
    return true;
}

void id_filter_done(struct id_filter *f)
{
    if (f->file != NULL)
        id_filter_file_close(f->file);
    else
        free(f->words);
    *f = (struct id_filter){ 0 };
}

size_t id_filter_size(const struct id_filter *f)
{
    return f->n_blocks * ID_FILTER_BLOCK_BYTES;
}

/* The high half of the hash selects the block, the low half the bits in it. */
static size_t block_of(const struct id_filter *f, uint64_t hash)
{
    assert(f->n_blocks > 0);
    return (hash >> 32) * f->n_blocks >> 32;
}

static unsigned bit_of(uint64_t hash, unsigned probe)
{
    uint32_t start = (uint32_t)hash, step = (start >> 17 | start << 15) | 1;

    return (start + probe * step) >> 7 & (BLOCK_BITS - 1);
}

void id_filter_add(struct id_filter *f, uint64_t hash)
{
    uint64_t *block;

    assert(f->file == NULL); /* a file is read only */
    block = f->words + block_of(f, hash) * BLOCK_WORDS;
    for (unsigned i = 0; i < PROBES; i++) {
        unsigned bit = bit_of(hash, i);

        block[bit / 64] |= 1ULL << bit % 64;
    }
}

bool id_filter_maybe(const struct id_filter *f, uint64_t hash)
{
    const size_t at = block_of(f, hash);
    const uint64_t *block =
        f->file == NULL ? f->words + at * BLOCK_WORDS : id_filter_file_block(f->file, at);

    for (unsigned i = 0; block != NULL && i < PROBES; i++) {
        unsigned bit = bit_of(hash, i);

        if ((block[bit / 64] & 1ULL << bit % 64) == 0)
            return false;
    }
    return true;
}

void id_filter_fetch(const struct id_filter *f, uint64_t hash)
{
    const size_t at = block_of(f, hash);

    if (f->file == NULL)
        __builtin_prefetch(f->words + at * BLOCK_WORDS);
    else
        id_filter_file_fetch(f->file, at);
}

/* id_filter.c - all bits of a hash are in one block of 64 bytes, which ends with its checksum. */
#include "features/events/ids/id_filter.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/mem.h"

enum {
    BLOCK_BYTES = 64,
    BLOCK_WORDS = BLOCK_BYTES / 8,
    SUMMED_BYTES = BLOCK_BYTES - 4,
    BLOCK_BITS = SUMMED_BYTES * 8,
    BITS_PER_ID = 20,
    PROBES = 6,
    WRITTEN_BLOCKS = 1024, /* at once */
    PATH_BYTES = 4096,
};

static void allocate(struct id_filter *f, size_t n_blocks)
{
    *f = (struct id_filter){ .words = mem_new(n_blocks * BLOCK_BYTES), .n_blocks = n_blocks };
}

void id_filter_init(struct id_filter *f, size_t n)
{
    allocate(f, n * BITS_PER_ID / BLOCK_BITS + 1);
}

bool id_filter_load(struct id_filter *f, const void *bytes, size_t size)
{
    if (size == 0 || size % BLOCK_BYTES != 0)
        return false;
    allocate(f, size / BLOCK_BYTES);
    memcpy(f->words, bytes, size);
    return true;
}

void id_filter_done(struct id_filter *f)
{
    if (f->mapped)
        (void)munmap(f->words, id_filter_size(f));
    else
        free(f->words);
    *f = (struct id_filter){ 0 };
}

size_t id_filter_size(const struct id_filter *f)
{
    return f->n_blocks * BLOCK_BYTES;
}

/* The high half of the hash selects the block, the low half the bits in it. */
static size_t block_of(const struct id_filter *f, uint64_t hash)
{
    assert(f->n_blocks > 0);
    return (hash >> 32) * f->n_blocks >> 32;
}

static unsigned bit_of(uint64_t hash, unsigned probe)
{
    const uint32_t start = (uint32_t)hash, step = (start >> 17 | start << 15) | 1;

    return ((start + probe * step) >> 7) % BLOCK_BITS;
}

void id_filter_add(struct id_filter *f, uint64_t hash)
{
    uint64_t *block = f->words + block_of(f, hash) * BLOCK_WORDS;

    assert(!f->mapped);
    for (unsigned i = 0; i < PROBES; i++) {
        const unsigned bit = bit_of(hash, i);

        block[bit / 64] |= 1ULL << bit % 64;
    }
}

/* The block's place counts too, so that one at a wrong place is found. */
static uint32_t sum_of(const uint64_t *block, uint32_t tag, size_t number)
{
    return crc32c(tag + (uint32_t)number, block, SUMMED_BYTES);
}

/* The last half of the last word. */
static bool is_right(const uint64_t *block, uint32_t tag, size_t number)
{
    return (uint32_t)(block[BLOCK_WORDS - 1] >> 32) == sum_of(block, tag, number);
}

bool id_filter_maybe(struct id_filter *f, uint64_t hash)
{
    const size_t number = block_of(f, hash);
    const uint64_t *block = f->words + number * BLOCK_WORDS;

    if (f->mapped && !is_right(block, f->tag, number)) {
        atomic_store_explicit(&f->damaged, true, memory_order_relaxed);
        return true;
    }
    for (unsigned i = 0; i < PROBES; i++) {
        const unsigned bit = bit_of(hash, i);

        if ((block[bit / 64] & 1ULL << bit % 64) == 0)
            return false;
    }
    return true;
}

void id_filter_fetch(const struct id_filter *f, uint64_t hash)
{
    __builtin_prefetch(f->words + block_of(f, hash) * BLOCK_WORDS);
}

/* --- files --- */

static bool write_all(int fd, const void *from, size_t size)
{
    const char *bytes = from;

    while (size > 0) {
        const ssize_t n = write(fd, bytes, size);

        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0) {
            bytes += n;
            size -= (size_t)n;
        }
    }
    return true;
}

/* With a checksum in each block. */
static bool write_blocks(int fd, const struct id_filter *f, uint32_t tag)
{
    uint64_t blocks[WRITTEN_BLOCKS * BLOCK_WORDS];

    for (size_t at = 0; at < f->n_blocks; at += WRITTEN_BLOCKS) {
        const size_t left = f->n_blocks - at, n = left < WRITTEN_BLOCKS ? left : WRITTEN_BLOCKS;

        memcpy(blocks, f->words + at * BLOCK_WORDS, n * BLOCK_BYTES);
        for (size_t i = 0; i < n; i++) {
            uint64_t *block = blocks + i * BLOCK_WORDS;

            block[BLOCK_WORDS - 1] |= (uint64_t)sum_of(block, tag, at + i) << 32;
        }
        if (!write_all(fd, blocks, n * BLOCK_BYTES))
            return false;
    }
    return true;
}

/* Replaces the file at `path`, which is as it was when that fails. */
static bool write_file(const struct id_filter *f, const char *path, uint32_t tag)
{
    char fresh[PATH_BYTES];
    const int n = snprintf(fresh, sizeof(fresh), "%s.new", path);
    bool ok;
    int fd;

    if (n < 0 || (size_t)n >= sizeof(fresh))
        return false;
    fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    ok = write_blocks(fd, f, tag) && fdatasync(fd) == 0;
    ok = close(fd) == 0 && ok && rename(fresh, path) == 0;
    if (!ok)
        (void)unlink(fresh);
    return ok;
}

/* Reads the file instead of mapping it, so that a disk error is returned as an error and not raised
 * as SIGBUS. */
static bool is_the_one(int fd, size_t size, uint32_t tag)
{
    uint64_t first[BLOCK_WORDS];
    struct stat status;

    return fstat(fd, &status) == 0 && status.st_size == (off_t)size &&
           pread(fd, first, sizeof(first), 0) == (ssize_t)sizeof(first) && is_right(first, tag, 0);
}

bool id_filter_map(struct id_filter *f, const char *path, size_t size, uint32_t tag)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *map = MAP_FAILED;

    if (fd < 0)
        return false;
    if (size >= BLOCK_BYTES && is_the_one(fd, size, tag))
        map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    (void)close(fd);
    if (map == MAP_FAILED)
        return false;
    *f = (struct id_filter){
        .words = map, .n_blocks = size / BLOCK_BYTES, .mapped = true, .tag = tag
    };
    return true;
}

bool id_filter_move(struct id_filter *f, const char *path, uint32_t tag)
{
    struct id_filter mapped;

    assert(!f->mapped);
    if (!write_file(f, path, tag) || !id_filter_map(&mapped, path, id_filter_size(f), tag))
        return false;
    id_filter_done(f);
    *f = mapped;
    return true;
}

/* id_filter_file.c - a head, and pages of blocks with their checksums. */
#include "features/events/ids/id_filter_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/mem.h"
#include "features/events/ids/id_filter.h"
#include "features/events/ids/id_filter_fault.h"

enum { PAGE = 4096, PAGE_BLOCKS = 60, PATH_BYTES = 4096 };

struct block {
    uint64_t words[ID_FILTER_BLOCK_BYTES / sizeof(uint64_t)];
};

struct page {
    struct block blocks[PAGE_BLOCKS];
    uint32_t sums[PAGE_BLOCKS];
    char unused[PAGE - PAGE_BLOCKS * (sizeof(struct block) + sizeof(uint32_t))];
};

_Static_assert(sizeof(struct page) == PAGE, "a page of a file is one of memory");

/* In a page of its own, before the others. */
struct head {
    char magic[8];
    uint64_t tag, size; /* of the filter */
    uint32_t sum;       /* of the members before it */
    uint32_t zero;
};

static const char MAGIC[8] = { 'm', 's', 't', 'r', 'f', 'l', 't', '2' };

struct id_filter_file {
    const struct page *pages;
    size_t n_blocks, n_pages;
    uint64_t tag;
    int fault_slot;
    atomic_bool damaged, told;
};

static size_t n_pages_of(size_t n_blocks)
{
    return (n_blocks + PAGE_BLOCKS - 1) / PAGE_BLOCKS;
}

/* The block's place counts too, so that a page written at a wrong place is found. */
static uint32_t block_sum(const struct block *block, uint64_t tag, size_t number)
{
    return crc32c((uint32_t)(tag + number), block, sizeof(*block));
}

static struct head head_of(uint64_t tag, size_t size)
{
    struct head head = { .tag = tag, .size = size };

    memcpy(head.magic, MAGIC, sizeof(MAGIC));
    head.sum = crc32c(0, &head, offsetof(struct head, sum));
    return head;
}

/* --- writing --- */

static bool write_all(int fd, const void *from, size_t size)
{
    const char *bytes = from;

    while (size > 0) {
        ssize_t n = write(fd, bytes, size);

        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0) {
            bytes += n;
            size -= (size_t)n;
        }
    }
    return true;
}

static bool write_page(int fd, const struct id_filter *f, size_t first, uint64_t tag)
{
    const size_t left = f->n_blocks - first, n = left < PAGE_BLOCKS ? left : PAGE_BLOCKS;
    struct page page = { 0 };

    memcpy(page.blocks, (const char *)f->words + first * sizeof(struct block),
           n * sizeof(struct block));
    for (size_t i = 0; i < n; i++)
        page.sums[i] = block_sum(&page.blocks[i], tag, first + i);
    return write_all(fd, &page, sizeof(page));
}

static bool write_filter(int fd, const struct id_filter *f, uint64_t tag)
{
    const struct head head = head_of(tag, id_filter_size(f));
    char first[PAGE] = "";

    memcpy(first, &head, sizeof(head));
    if (!write_all(fd, first, sizeof(first)))
        return false;
    for (size_t at = 0; at < f->n_blocks; at += PAGE_BLOCKS)
        if (!write_page(fd, f, at, tag))
            return false;
    return true;
}

bool id_filter_file_write(const char *path, const struct id_filter *f, uint64_t tag)
{
    char fresh[PATH_BYTES];
    int fd, n = snprintf(fresh, sizeof(fresh), "%s.new", path);
    bool ok;

    assert(f->file == NULL);
    if (n < 0 || (size_t)n >= sizeof(fresh))
        return false;
    fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    ok = write_filter(fd, f, tag) && fdatasync(fd) == 0; /* a head means that all is there */
    ok = close(fd) == 0 && ok && rename(fresh, path) == 0;
    if (!ok)
        (void)unlink(fresh);
    return ok;
}

/* --- mapping --- */

/* Read, not mapped: a disk that fails is an answer then. */
static bool is_the_one(int fd, uint64_t tag, size_t size, size_t file_size)
{
    const struct head wanted = head_of(tag, size);
    struct stat status;
    struct head head;

    return fstat(fd, &status) == 0 && status.st_size == (off_t)file_size &&
           pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
           memcmp(&head, &wanted, sizeof(head)) == 0;
}

bool id_filter_file_open(const char *path, size_t size, uint64_t tag, struct id_filter *ret)
{
    const size_t n_blocks = size / ID_FILTER_BLOCK_BYTES, bytes = n_pages_of(n_blocks) * PAGE;
    int fd = open(path, O_RDONLY | O_CLOEXEC), slot = -1;
    struct id_filter_file *file;
    void *map = MAP_FAILED;

    if (fd < 0)
        return false;
    if (n_blocks > 0 && is_the_one(fd, tag, size, PAGE + bytes))
        map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, PAGE);
    (void)close(fd);
    if (map != MAP_FAILED)
        slot = id_filter_fault_watch(map, bytes);
    if (slot < 0) {
        if (map != MAP_FAILED)
            (void)munmap(map, bytes);
        return false;
    }
    file = NEW(struct id_filter_file);
    file->pages = map;
    file->n_blocks = n_blocks;
    file->n_pages = n_pages_of(n_blocks);
    file->tag = tag;
    file->fault_slot = slot;
    *ret = (struct id_filter){ .n_blocks = n_blocks, .file = file };
    return true;
}

void id_filter_file_close(struct id_filter_file *file)
{
    void *map;

    id_filter_fault_forget(file->fault_slot);
    memcpy((void *)&map, (const void *)&file->pages, sizeof(map)); /* it is not const to munmap() */
    (void)munmap(map, file->n_pages * PAGE);
    free(file);
}

const uint64_t *id_filter_file_block(struct id_filter_file *file, size_t block)
{
    const struct page *page = &file->pages[block / PAGE_BLOCKS];
    const struct block *b = &page->blocks[block % PAGE_BLOCKS];

    assert(block < file->n_blocks);
    if (block_sum(b, file->tag, block) == page->sums[block % PAGE_BLOCKS])
        return b->words;
    atomic_store_explicit(&file->damaged, true, memory_order_relaxed);
    return NULL;
}

void id_filter_file_fetch(const struct id_filter_file *file, size_t block)
{
    const struct page *page = &file->pages[block / PAGE_BLOCKS];

    __builtin_prefetch(&page->blocks[block % PAGE_BLOCKS]);
    __builtin_prefetch(&page->sums[block % PAGE_BLOCKS]);
}

bool id_filter_file_tell_damage(struct id_filter_file *file)
{
    return atomic_load_explicit(&file->damaged, memory_order_relaxed) &&
           !atomic_exchange(&file->told, true);
}

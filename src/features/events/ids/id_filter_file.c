/* id_filter_file.c - a head, a checksum per page, and the pages. */
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

#include "base/crc32c.h"
#include "base/log.h"
#include "base/mem.h"
#include "features/events/ids/id_filter.h"

enum { PAGE = 4096, SUM_BITS = 64, PATH_BYTES = 4096 };

/* The first page begins with it; the checksums follow, filled up to a whole page. */
struct head {
    char magic[8];
    uint64_t tag, size; /* of the filter */
    uint32_t sums_sum;  /* of the checksums */
    uint32_t head_sum;  /* of the members before it */
};

static const char MAGIC[8] = { 'm', 's', 't', 'r', 'f', 'l', 't', '1' };

struct id_filter_file {
    void *map;
    size_t map_size;
    const uint32_t *sums;
    const char *pages;
    size_t size; /* of the filter; its last page may be short */
    char *path;
    atomic_bool complained;
    _Atomic uint64_t verified[]; /* a bit per page */
};

static size_t n_pages_of(size_t size)
{
    return (size + PAGE - 1) / PAGE;
}

/* Head and checksums, in whole pages: where the filter itself begins. */
static size_t front_size(size_t size)
{
    return n_pages_of(sizeof(struct head) + n_pages_of(size) * sizeof(uint32_t)) * PAGE;
}

static uint32_t page_sum(const char *pages, size_t size, size_t page)
{
    size_t at = page * PAGE, n = size - at < PAGE ? size - at : PAGE;

    assert(at < size);
    return crc32c(0, pages + at, n);
}

static uint32_t head_sum(const struct head *head)
{
    return crc32c(0, head, offsetof(struct head, head_sum));
}

/* --- writing --- */

static bool write_all(int fd, const char *bytes, size_t size)
{
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

static bool write_filter(int fd, const struct id_filter *f, uint64_t tag)
{
    size_t size = id_filter_size(f), front = front_size(size);
    const char *pages = (const char *)f->words;
    char *bytes = mem_new(front);
    struct head head = { .tag = tag, .size = size };
    bool ok;

    for (size_t i = 0; i < n_pages_of(size); i++) {
        uint32_t sum = page_sum(pages, size, i);

        memcpy(bytes + sizeof(head) + i * sizeof(sum), &sum, sizeof(sum));
    }
    memcpy(head.magic, MAGIC, sizeof(MAGIC));
    head.sums_sum = crc32c(0, bytes + sizeof(head), front - sizeof(head));
    head.head_sum = head_sum(&head);
    memcpy(bytes, &head, sizeof(head));
    ok = write_all(fd, bytes, front) && write_all(fd, pages, size);
    free(bytes);
    return ok;
}

bool id_filter_file_write(const char *path, const struct id_filter *f, uint64_t tag)
{
    char fresh[PATH_BYTES];
    int fd, n = snprintf(fresh, sizeof(fresh), "%s.new", path);
    bool ok;

    if (n < 0 || (size_t)n >= sizeof(fresh))
        return false;
    fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    ok = write_filter(fd, f, tag) && fdatasync(fd) == 0; /* pages and checksums arrive together */
    ok = close(fd) == 0 && ok && rename(fresh, path) == 0;
    if (!ok)
        (void)unlink(fresh);
    return ok;
}

/* --- mapping --- */

static bool head_fits(const struct head *head, const char *map, size_t size, uint64_t tag)
{
    size_t front = front_size(size);

    return memcmp(head->magic, MAGIC, sizeof(MAGIC)) == 0 && head->head_sum == head_sum(head) &&
           head->tag == tag && head->size == size &&
           head->sums_sum == crc32c(0, map + sizeof(*head), front - sizeof(*head));
}

static void *map_file(const char *path, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    void *map = MAP_FAILED;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &status) == 0 && status.st_size == (off_t)size)
        map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    (void)close(fd);
    return map == MAP_FAILED ? NULL : map;
}

bool id_filter_file_open(const char *path, size_t size, uint64_t tag, struct id_filter *ret)
{
    size_t front = front_size(size), words = n_pages_of(size) / SUM_BITS + 1;
    char *map = map_file(path, front + size);
    struct id_filter_file *file;
    struct head head;

    if (map == NULL)
        return false;
    memcpy(&head, map, sizeof(head));
    if (!head_fits(&head, map, size, tag)) {
        (void)munmap(map, front + size);
        return false;
    }
    (void)madvise(map, front + size, MADV_RANDOM); /* neighbours of a block are not asked for */
    file = mem_new(sizeof(*file) + words * sizeof(file->verified[0]));
    file->path = mem_strdup(path);
    file->map = map;
    file->map_size = front + size;
    file->sums = (const void *)(map + sizeof(head));
    file->pages = map + front;
    file->size = size;
    *ret = (struct id_filter){ .words = (void *)(map + front),
                               .n_blocks = size / ID_FILTER_BLOCK_BYTES,
                               .file = file };
    return true;
}

void id_filter_file_close(struct id_filter_file *file)
{
    (void)munmap(file->map, file->map_size);
    free(file->path);
    free(file);
}

/* The next start makes it again, from the database. */
static void give_up(struct id_filter_file *file, size_t page)
{
    if (atomic_exchange(&file->complained, true))
        return;
    (void)unlink(file->path);
    log_write(LOG_WARNING, "ids",
              "page %zu of %s is damaged: lookups that need it are slower until the next start",
              page, file->path);
}

bool id_filter_file_is_sound(struct id_filter_file *file, const uint64_t *word)
{
    size_t page = (size_t)((const char *)word - file->pages) / PAGE;
    uint64_t bit = UINT64_C(1) << page % SUM_BITS;
    _Atomic uint64_t *verified = &file->verified[page / SUM_BITS];

    assert(page < n_pages_of(file->size));
    if ((atomic_load_explicit(verified, memory_order_relaxed) & bit) != 0)
        return true;
    if (page_sum(file->pages, file->size, page) == file->sums[page]) {
        (void)atomic_fetch_or_explicit(verified, bit, memory_order_relaxed);
        return true;
    }
    give_up(file, page);
    return false;
}

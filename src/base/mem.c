/* mem.c - heap memory, with a reserve for bad times. */
#include "base/mem.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* One block of at most `reserve_bytes`, never written to. NULL: used, or none was asked for. */
static _Atomic(void *) reserve;
static size_t reserve_bytes;

/* After a failure: gives the reserve back. Another thread may just have done so, which is as good:
 * what it made free is tried once more. */
static void release_reserve(void)
{
    free(atomic_exchange(&reserve, NULL));
}

static void *check(void *memory, size_t size)
{
    if (memory == NULL)
        err_die("out of memory (%zu bytes)", size);
    return memory;
}

void *mem_new(size_t size)
{
    void *memory = calloc(1, size);

    if (memory == NULL) {
        release_reserve();
        memory = calloc(1, size);
    }
    return check(memory, size);
}

void *mem_alloc(size_t size)
{
    return mem_resize(NULL, size);
}

void *mem_resize(void *memory, size_t size)
{
    void *resized = realloc(memory, size);

    if (resized == NULL) {
        release_reserve();
        resized = realloc(memory, size);
    }
    return check(resized, size);
}

void *mem_grow(void *items, size_t n, size_t *capacity, size_t size)
{
    if (n < *capacity)
        return items;
    *capacity = *capacity == 0 ? 16 : *capacity * 2;
    return mem_resize(items, *capacity * size);
}

char *mem_strdup(const char *text)
{
    size_t size = strlen(text) + 1;

    return memcpy(mem_new(size), text, size);
}

/* Batches of 1,000 events of a usual size stay below both limits, so their memory stays mapped:
 * with a threshold of 128 KiB an event of a batch cost 15 % more. */
enum { MAPPED_FROM = 1 << 20, KEPT_MAX = 2 << 20 };

void mem_return_large(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_FROM); /* which also ends the growth of both */
    (void)mallopt(M_TRIM_THRESHOLD, KEPT_MAX);
}

void mem_trim(void)
{
    (void)malloc_trim(0);
}

/* A smaller reserve is better than none: the heap may not have returned everything. Another thread
 * may have been first. */
static bool take_reserve(void)
{
    for (size_t size = reserve_bytes; size >= reserve_bytes / 8; size /= 2) {
        void *none = NULL, *block = malloc(size);

        if (block == NULL)
            continue;
        if (!atomic_compare_exchange_strong(&reserve, &none, block))
            free(block);
        return true;
    }
    return false;
}

void mem_keep_reserve(size_t bytes)
{
    release_reserve();
    reserve_bytes = bytes;
    if (bytes > 0)
        (void)take_reserve();
}

bool mem_is_short(void)
{
    return reserve_bytes > 0 && atomic_load_explicit(&reserve, memory_order_relaxed) == NULL &&
           !take_reserve();
}

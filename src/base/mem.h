/* mem.h - heap memory, with a reserve for bad times; running out of both aborts the process.
 *
 * What a client may make us allocate is bounded before. When an allocation
 * fails nevertheless, the reserve is given back to the system and the
 * allocation is tried again: work that was admitted is finished with it, and
 * while mem_is_short() no new work is admitted.
 *
 * Thread-safe.
 */
#pragma once
#include <stdbool.h>

#include "base/base.h"

/* Zeroed; free() it. */
void *mem_new(size_t size) MUST_CHECK __attribute__((malloc));

/* Like malloc(): not zeroed; free() it. */
void *mem_alloc(size_t size) MUST_CHECK __attribute__((malloc));

/* Like realloc(). */
void *mem_resize(void *memory, size_t size) MUST_CHECK;

/* For an array of `n` elements of `size` bytes that gets one more: the array itself, or when
 * *capacity of them are used, a larger one in its place. */
void *mem_grow(void *items, size_t n, size_t *capacity, size_t size) MUST_CHECK;

/* A copy of a C string; free() it. */
char *mem_strdup(const char *text) MUST_CHECK;

/* From now on the heap returns to the system what is freed of large blocks, and what is free at its
 * end. By itself it keeps more the larger the blocks have been, up to 64 MiB for each thread: for
 * ever what was needed once. Before there are other threads. */
void mem_return_large(void);

/* Returns free pages inside the heap to the system. Worth it after much was freed at once: it looks
 * at the whole heap, and who allocates waits meanwhile. */
void mem_trim(void);

/* Sets this much address space aside; it takes no memory until it is used. Before there are other
 * threads. */
void mem_keep_reserve(size_t bytes);

/* The reserve was used, and cannot be had again yet. */
bool mem_is_short(void);

#define NEW(type) ((type *)mem_new(sizeof(type)))

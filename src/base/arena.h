/* arena.h - memory of one request, freed all at once.
 *
 * One thread at a time; it may be handed over with its request.
 */
#pragma once
#include "base/base.h"
#include "base/str.h"

struct arena_chunk;
struct arena_deferred;

struct arena {
    struct arena_chunk *chunks; /* newest first */
    char *at, *end;             /* free part of the newest */
    size_t total;               /* bytes asked from the heap, for bounds and metrics */
    struct arena_deferred *deferred;
};

/* Allocates nothing until something is asked for. */
void arena_init(struct arena *a);

/* Frees everything. NULL is fine. */
void arena_done(struct arena *a);

/* An empty arena that ends with the block. */
#define ARENA_SCOPED(name) struct arena name SCOPED(arena_done) = { 0 }

/* Forgets everything; keeps one small chunk for the next request. */
void arena_reset(struct arena *a);

/* Calls fn(arg) when the memory is given up, by arena_reset() or arena_done(): for what must live
 * as long as the request, such as a reference. The last one first. */
void arena_defer(struct arena *a, void (*fn)(void *arg), void *arg);

/* Aligned for any type; not zeroed. Never NULL. */
void *arena_alloc(struct arena *a, size_t size) MUST_CHECK;

/* Zeroed. */
void *arena_zalloc(struct arena *a, size_t size) MUST_CHECK;

/* Grows (or moves) what arena_alloc gave; in place when it was the last allocation. */
void *arena_resize(struct arena *a, void *memory, size_t old_size, size_t new_size) MUST_CHECK;

/* A copy that ends in NUL. STR_NULL stays STR_NULL. */
struct str arena_copy(struct arena *a, struct str s);
const char *arena_cstr(struct arena *a, struct str s);

struct str arena_printf(struct arena *a, const char *fmt, ...) PRINTF(2, 3);

#define ARENA_NEW(a, type)      ((type *)arena_zalloc((a), sizeof(type)))
#define ARENA_ARRAY(a, type, n) ((type *)arena_zalloc((a), sizeof(type) * (n)))

/* arena.c - chunks that grow with use: small requests stay in one. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"

enum { ALIGNMENT = 16, CHUNK_MIN = 8192 - 64, CHUNK_MAX = 1 << 17 };

struct arena_chunk {
    struct arena_chunk *older;
    size_t size;
    _Alignas(ALIGNMENT) char bytes[];
};

/* In the arena itself. */
struct arena_deferred {
    struct arena_deferred *before;
    void (*fn)(void *arg);
    void *arg;
};

static size_t aligned(size_t size)
{
    if (size > SIZE_MAX / 2)
        err_die("arena: absurd size %zu", size);
    return (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

void arena_init(struct arena *a)
{
    *a = (struct arena){ 0 };
}

static void free_chunks(struct arena_chunk *chunk)
{
    while (chunk != NULL) {
        struct arena_chunk *older = chunk->older;

        free(chunk);
        chunk = older;
    }
}

static void run_deferred(struct arena *a)
{
    while (a->deferred != NULL) {
        const struct arena_deferred deferred = *a->deferred;

        a->deferred = deferred.before;
        deferred.fn(deferred.arg);
    }
}

void arena_done(struct arena *a)
{
    if (a == NULL)
        return;
    run_deferred(a);
    free_chunks(a->chunks);
    arena_init(a);
}

void arena_reset(struct arena *a)
{
    struct arena_chunk *oldest = a->chunks;

    run_deferred(a);
    if (oldest == NULL)
        return;
    while (oldest->older != NULL) {
        struct arena_chunk *older = oldest->older;

        free(oldest);
        oldest = older;
    }
    a->chunks = oldest;
    if (oldest->size > CHUNK_MIN) { /* the first thing asked for was large: not worth keeping */
        arena_done(a);
        return;
    }
    a->at = oldest->bytes;
    a->end = oldest->bytes + oldest->size;
    a->total = oldest->size;
}

static void add_chunk(struct arena *a, size_t least)
{
    size_t size = a->chunks == NULL ? CHUNK_MIN : a->chunks->size * 2;
    struct arena_chunk *chunk;

    if (size > CHUNK_MAX)
        size = CHUNK_MAX;
    if (size < least)
        size = least;
    chunk = mem_alloc(sizeof(*chunk) + size);
    chunk->older = a->chunks;
    chunk->size = size;
    a->chunks = chunk;
    a->at = chunk->bytes;
    a->end = chunk->bytes + size;
    a->total += size;
}

void *arena_alloc(struct arena *a, size_t size)
{
    void *memory;

    size = aligned(size);
    if ((size_t)(a->end - a->at) < size || a->at == NULL)
        add_chunk(a, size);
    memory = a->at;
    a->at += size;
    return memory;
}

void arena_defer(struct arena *a, void (*fn)(void *arg), void *arg)
{
    struct arena_deferred *deferred = arena_alloc(a, sizeof(*deferred));

    *deferred = (struct arena_deferred){ a->deferred, fn, arg };
    a->deferred = deferred;
}

void *arena_zalloc(struct arena *a, size_t size)
{
    return memset(arena_alloc(a, size), 0, size);
}

void *arena_resize(struct arena *a, void *memory, size_t old_size, size_t new_size)
{
    char *old = memory;
    void *moved;

    if (old != NULL && old + aligned(old_size) == a->at &&
        aligned(new_size) <= (size_t)(a->end - old)) {
        a->at = old + aligned(new_size);
        return old;
    }
    if (new_size <= old_size)
        return old;
    moved = arena_alloc(a, new_size);
    if (old != NULL && old_size > 0)
        memcpy(moved, old, old_size);
    return moved;
}

struct str arena_copy(struct arena *a, struct str s)
{
    char *copy;

    if (str_is_null(s))
        return s;
    copy = arena_alloc(a, s.len + 1);
    memcpy(copy, s.data, s.len);
    copy[s.len] = '\0';
    return str_from(copy, s.len);
}

const char *arena_cstr(struct arena *a, struct str s)
{
    return arena_copy(a, str_is_null(s) ? STR_LIT("") : s).data;
}

struct str arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list args, again;
    char *text;
    int len;

    va_start(args, fmt);
    va_copy(again, args);
    len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (len < 0)
        err_die("arena: bad format '%s'", fmt);
    text = arena_alloc(a, (size_t)len + 1);
    (void)vsnprintf(text, (size_t)len + 1, fmt, again);
    va_end(again);
    return str_from(text, (size_t)len);
}

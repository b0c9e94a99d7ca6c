/* buf.h - bytes that grow up to a ceiling.
 *
 * Writing past the ceiling marks the buffer as overflown and drops the rest,
 * so that writers need no check at each step: look once at the end.
 *
 * One thread at a time.
 */
#pragma once
#include <stdbool.h>

#include "base/base.h"
#include "base/str.h"

struct arena;

struct buf {
    char *data;
    size_t len, capacity;
    size_t max; /* ceiling in bytes */
    bool overflown;
};

void buf_init(struct buf *b, size_t max);

/* NULL is fine. */
void buf_done(struct buf *b);

/* An empty buffer that ends with the block. */
#define BUF_SCOPED(name, ceiling) struct buf name SCOPED(buf_done) = { .max = (ceiling) }

/* Letters, digits and "-._~" as they are, everything else as %XX: for URLs and forms. The second
 * gives it as a text in the arena. */
void buf_add_percent(struct buf *b, struct str s);
struct str buf_percent(struct str s, struct arena *arena);

/* Its text in the arena's memory; the buffer is done with. */
struct str buf_take(struct buf *b, struct arena *arena);

/* Empty again, not overflown; keeps its memory. */
void buf_clear(struct buf *b);

void buf_add(struct buf *b, struct str s);
void buf_add_c(struct buf *b, const char *text);
void buf_add_char(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF(2, 3);
void buf_add_int(struct buf *b, int64_t value);

/* Room for `n` more bytes, or NULL (and overflown). Follow by buf_added(). */
char *buf_reserve(struct buf *b, size_t n);
void buf_added(struct buf *b, size_t n);

/* A JSON string with its quotes: compact, UTF-8 raw, control characters as \n or \u00xx. */
void buf_add_json(struct buf *b, struct str s);

/* How many bytes buf_add_json() adds. */
size_t buf_json_len(struct str s);

static inline struct str buf_str(const struct buf *b)
{
    return str_from(b->data == NULL ? "" : b->data, b->len);
}

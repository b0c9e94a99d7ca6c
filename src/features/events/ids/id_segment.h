/* id_segment.h - sorted, immutable runs of (hash, number) in the database; private to this folder.
 *
 * A segment's entries are stored in chunks of one page each; only the first
 * hash of each chunk, and the filter unless it is in a file, are in memory.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "features/events/ids/id_filter.h"
#include "features/events/ids/id_table.h"

struct db;

enum { ID_CHUNK_ENTRIES = 250 }; /* 4,000 bytes: a page of 4 KiB with its header */

enum id_segment_state { SEGMENT_BUILDING, SEGMENT_LIVE, SEGMENT_GARBAGE };

struct id_segment {
    int64_t segment_no;
    int tier; /* 0: flushed from memory; n + 1: merged from tier n */
    size_t n, n_chunks;
    uint64_t *fences; /* first hash of each chunk */
    struct id_filter filter;
    size_t filter_size; /* also before it is loaded */
};

/* A growing array; it owns its segments. */
struct id_segments {
    struct id_segment **items;
    size_t n, capacity;
};

void id_segments_add(struct id_segments *list, struct id_segment *s);
void id_segments_done(struct id_segments *list);

/* Memory for a segment of up to `n` entries. */
struct id_segment *id_segment_new(int64_t segment_no, int tier, size_t n);

/* NULL is fine. */
void id_segment_free(struct id_segment *s);

/* Calls on_segment for every stored segment, without its filter; the callee owns it. */
typedef void id_segment_fn(void *ctx, struct id_segment *s, enum id_segment_state state);
int id_segments_load(struct db *db, id_segment_fn *on_segment, void *ctx,
                     struct error *err) MUST_CHECK;

/* Loads the filter from the segment's row. */
int id_segment_read_filter(struct db *db, struct id_segment *s, struct error *err) MUST_CHECK;

/* Updates only the state of an existing row. */
int id_segment_mark(struct db *db, const struct id_segment *s, enum id_segment_state state,
                    struct error *err) MUST_CHECK;

/* Inserts or replaces the segment's row. */
int id_segment_save(struct db *db, const struct id_segment *s, enum id_segment_state state,
                    struct error *err) MUST_CHECK;

/* Appends one chunk of up to ID_CHUNK_ENTRIES sorted entries, to memory and database. */
int id_segment_append(struct db *db, struct id_segment *s, const struct id_entry *entries, size_t n,
                      struct error *err) MUST_CHECK;

/* Reads a chunk; *ret_n is 0 when it does not exist. */
int id_segment_chunk(struct db *db, const struct id_segment *s, size_t chunk,
                     struct id_entry ret[ID_CHUNK_ENTRIES], size_t *ret_n,
                     struct error *err) MUST_CHECK;

/* Sets the error for a damaged chunk. Returns -1. */
int id_segment_damaged(const struct id_segment *s, size_t chunk, struct error *err);

/* Sets n_chunks to the number of chunks in the database. */
int id_segment_measure(struct db *db, struct id_segment *s, struct error *err) MUST_CHECK;

/* The first chunk that may have entries with this hash; they may continue in the next ones. */
size_t id_segment_find(const struct id_segment *s, uint64_t hash);

/* Deletes the chunks with index >= from, and for from == 0 also the segment's row. */
int id_segment_delete(struct db *db, const struct id_segment *s, size_t from,
                      struct error *err) MUST_CHECK;

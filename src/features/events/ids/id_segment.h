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
    bool file_lost;     /* it was damaged, and is removed */
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

enum { ID_MERGE_INPUTS = 8 };

/* The read position in an input. */
struct id_cursor {
    const struct id_segment *segment; /* borrowed */
    size_t chunk, at;                 /* the next entry */
};

/* A merge of several segments into one, in small steps per transaction. A plain value: restoring a
 * copy made before a transaction undoes the steps in it. (Filter bits set by a transaction that was
 * rolled back are set again by the next.) */
struct id_merge {
    struct id_segment *output; /* owned; NULL: no merge in progress */
    size_t n, n_chunks;        /* of the output, so far */
    struct id_cursor inputs[ID_MERGE_INPUTS];
    size_t n_inputs;
};

/* Starts a merge of `inputs` into a new segment; saves its row. */
int id_merge_begin(struct db *db, struct id_segment *const *inputs, size_t n, int64_t segment_no,
                   struct id_merge *ret, struct error *err) MUST_CHECK;

/* Writes up to `chunks` further chunks. After the last one the output's row is live, those of the
 * inputs are garbage, and *ret_done is true. */
int id_merge_step(struct db *db, struct id_merge *m, size_t chunks, bool *ret_done,
                  struct error *err) MUST_CHECK;

/* Restores `before`, an earlier copy. */
void id_merge_undo(struct id_merge *m, const struct id_merge *before);

/* id_merge.h - merges several segments into one, in small steps per transaction; private to this
 * folder.
 *
 * The state is a plain value: restoring a copy made before a transaction undoes
 * the steps in it. (Filter bits set by a transaction that was rolled back are
 * set again by the next.)
 *
 * The writer's thread only.
 */
#pragma once
#include "features/events/ids/id_segment.h"

enum { ID_MERGE_INPUTS = 8 };

/* The read position in an input. */
struct id_cursor {
    const struct id_segment *segment; /* borrowed */
    size_t chunk, at;                 /* the next entry */
};

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

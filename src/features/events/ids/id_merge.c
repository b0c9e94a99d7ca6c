/* id_merge.c - a merge of sorted inputs that can pause after any chunk. */
#include "features/events/ids/id_merge.h"

#include <assert.h>

#include "db/db.h"

/* The inputs' current chunks, during a step. */
struct window {
    struct id_entry entries[ID_CHUNK_ENTRIES];
    size_t n;
};

struct windows {
    struct window of[ID_MERGE_INPUTS];
    uint64_t
        heads[ID_MERGE_INPUTS]; /* the next hash of each, side by side; the greatest at its end */
};

int id_merge_begin(struct db *db, struct id_segment *const *inputs, size_t n, int64_t segment_no,
                   struct id_merge *ret, struct error *err)
{
    struct id_merge m = { .n_inputs = n };
    size_t total = 0;

    assert(n > 0 && n <= ID_MERGE_INPUTS);
    for (size_t i = 0; i < n; i++) {
        m.inputs[i] = (struct id_cursor){ .segment = inputs[i] };
        total += inputs[i]->n;
    }
    m.output = id_segment_new(segment_no, inputs[0]->tier + 1, total);
    if (id_segment_save(db, m.output, SEGMENT_BUILDING, err) != 0) {
        id_segment_free(m.output);
        return -1;
    }
    *ret = m;
    return 0;
}

/* Reads the chunk of input `i`; an input at its end leaves the window empty. */
static int load_window(struct db *db, const struct id_merge *m, size_t i, struct windows *windows,
                       struct error *err)
{
    const struct id_cursor *c = &m->inputs[i];
    struct window *w = &windows->of[i];

    w->n = 0;
    windows->heads[i] = UINT64_MAX;
    if (c->chunk >= c->segment->n_chunks)
        return 0;
    if (id_segment_chunk(db, c->segment, c->chunk, w->entries, &w->n, err) != 0)
        return -1;
    if (w->n <= c->at)
        return id_segment_damaged(c->segment, c->chunk, err);
    windows->heads[i] = w->entries[c->at].hash;
    return 0;
}

/* The input with the smallest next hash, or n_inputs when all are at their end. */
static size_t smallest(const struct id_merge *m, const struct windows *windows)
{
    size_t best = 0;

    assert(m->n_inputs > 0);
    for (size_t i = 1; i < m->n_inputs; i++)
        best = windows->heads[i] < windows->heads[best] ? i : best;
    if (windows->heads[best] == UINT64_MAX) /* an end, or an id that has this hash */
        for (best = 0; best < m->n_inputs && windows->of[best].n == 0; best++)
            ;
    return best;
}

/* Merges entries into one chunk; it is not full only at the end. */
static int fill_chunk(struct db *db, struct id_merge *m, struct windows *windows,
                      struct id_entry ret[ID_CHUNK_ENTRIES], size_t *ret_n, struct error *err)
{
    for (*ret_n = 0; *ret_n < ID_CHUNK_ENTRIES; ++*ret_n) {
        size_t i = smallest(m, windows);
        const struct window *w = &windows->of[i];
        struct id_cursor *c = &m->inputs[i];

        if (i == m->n_inputs)
            return 0;
        ret[*ret_n] = w->entries[c->at++];
        if (c->at < w->n) {
            windows->heads[i] = w->entries[c->at].hash;
            continue;
        }
        c->chunk++;
        c->at = 0;
        if (load_window(db, m, i, windows, err) != 0)
            return -1;
    }
    return 0;
}

static int finish(struct db *db, const struct id_merge *m, struct error *err)
{
    for (size_t i = 0; i < m->n_inputs; i++)
        if (id_segment_mark(db, m->inputs[i].segment, SEGMENT_GARBAGE, err) != 0)
            return -1;
    return id_segment_save(db, m->output, SEGMENT_LIVE, err);
}

int id_merge_step(struct db *db, struct id_merge *m, size_t chunks, bool *ret_done,
                  struct error *err)
{
    struct windows windows;
    struct id_entry entries[ID_CHUNK_ENTRIES];
    size_t n;

    *ret_done = false;
    for (size_t i = 0; i < m->n_inputs; i++)
        if (load_window(db, m, i, &windows, err) != 0)
            return -1;
    for (; chunks > 0; chunks--) {
        if (fill_chunk(db, m, &windows, entries, &n, err) != 0)
            return -1;
        assert(n <= ID_CHUNK_ENTRIES);
        if (n > 0 && id_segment_append(db, m->output, entries, n, err) != 0)
            return -1;
        if (n < ID_CHUNK_ENTRIES) {
            *ret_done = true;
            break;
        }
    }
    assert(m->output != NULL && m->output->n >= m->n);
    m->n = m->output->n;
    m->n_chunks = m->output->n_chunks;
    return *ret_done ? finish(db, m, err) : 0;
}

void id_merge_undo(struct id_merge *m, const struct id_merge *before)
{
    if (m->output != before->output)
        id_segment_free(m->output); /* started in the transaction being undone */
    *m = *before;
    if (m->output != NULL) {
        m->output->n = m->n;
        m->output->n_chunks = m->n_chunks;
    }
}

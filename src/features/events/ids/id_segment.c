/* id_segment.c - segments and their chunks in the database, and merges that can pause after any
 * chunk. */
#include "features/events/ids/id_segment.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "db/db.h"

enum { CHUNK_BITS = 32 }; /* chunk_no = segment_no << 32 | index */

/* clang-format off */
DB_QUERY(select_segments,
    "SELECT segment_no, tier, state, n, fences, length(filter) FROM id_segments"
    " ORDER BY segment_no");
DB_QUERY(select_filter, "SELECT filter FROM id_segments WHERE segment_no = $1");
DB_QUERY(replace_segment,
    "INSERT INTO id_segments (segment_no, tier, state, n, fences, filter)"
    " VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (segment_no) DO UPDATE SET"
    " state = excluded.state, n = excluded.n, fences = excluded.fences,"
    " filter = excluded.filter");
DB_QUERY(update_segment_state, "UPDATE id_segments SET state = $2 WHERE segment_no = $1");
DB_QUERY(delete_segment, "DELETE FROM id_segments WHERE segment_no = $1");
DB_QUERY(insert_chunk, "INSERT INTO id_chunks (chunk_no, entries) VALUES ($1, $2)");
DB_QUERY(select_chunk, "SELECT entries FROM id_chunks WHERE chunk_no = $1");
DB_QUERY(select_last_chunk,
    "SELECT MAX(chunk_no) FROM id_chunks WHERE chunk_no >= $1 AND chunk_no < $2");
DB_QUERY(delete_chunks, "DELETE FROM id_chunks WHERE chunk_no >= $1 AND chunk_no < $2");
/* clang-format on */

static int64_t chunk_no(const struct id_segment *s, size_t chunk)
{
    assert(s->segment_no > 0 && (int64_t)chunk < 1LL << CHUNK_BITS);
    return s->segment_no << CHUNK_BITS | (int64_t)chunk;
}

struct id_segment *id_segment_new(int64_t segment_no, int tier, size_t n)
{
    struct id_segment *s = NEW(struct id_segment);

    s->segment_no = segment_no;
    s->tier = tier;
    s->fences = mem_new((n / ID_CHUNK_ENTRIES + 1) * sizeof(*s->fences));
    id_filter_init(&s->filter, n);
    s->filter_size = id_filter_size(&s->filter);
    return s;
}

void id_segment_free(struct id_segment *s)
{
    if (s == NULL)
        return;
    free(s->fences);
    id_filter_done(&s->filter);
    free(s);
}

void id_segments_add(struct id_segments *list, struct id_segment *s)
{
    list->items = (struct id_segment **)mem_grow((void *)list->items, list->n, &list->capacity,
                                                 sizeof(struct id_segment *));
    assert(s != NULL && list->n < list->capacity);
    list->items[list->n++] = s;
}

void id_segments_done(struct id_segments *list)
{
    for (size_t i = 0; i < list->n; i++)
        id_segment_free(list->items[i]);
    free((void *)list->items);
}

struct segment_reader {
    id_segment_fn *on_segment;
    void *ctx;
    bool bad;
};

static bool read_segment(void *ctx, const struct db_row *row)
{
    struct segment_reader *reader = ctx;
    struct str fences = db_get_blob(row, 4);
    struct id_segment *s = NEW(struct id_segment);

    s->segment_no = db_get_int(row, 0);
    s->tier = (int)db_get_int(row, 1);
    s->n = (size_t)db_get_int(row, 3);
    s->filter_size = (size_t)db_get_int(row, 5);
    s->n_chunks = fences.len / sizeof(*s->fences);
    s->fences = mem_new(fences.len + sizeof(*s->fences));
    if (fences.len > 0)
        memcpy(s->fences, fences.data, fences.len);
    if (fences.len % sizeof(*s->fences) != 0) {
        reader->bad = true;
        id_segment_free(s);
        return false;
    }
    reader->on_segment(reader->ctx, s, (enum id_segment_state)db_get_int(row, 2));
    return true;
}

int id_segments_load(struct db *db, id_segment_fn *on_segment, void *ctx, struct error *err)
{
    struct segment_reader reader = { .on_segment = on_segment, .ctx = ctx };

    if (db_exec(db, &select_segments, DB_NO_ARGS, read_segment, &reader, err) != 0)
        return -1;
    if (reader.bad)
        return err_set(err, ERR_IO, "the id index is damaged");
    return 0;
}

static bool read_filter(void *ctx, const struct db_row *row)
{
    struct id_segment *s = ctx;
    struct str filter = db_get_blob(row, 0);

    (void)id_filter_load(&s->filter, filter.data, filter.len); /* seen by its size */
    return false;
}

int id_segment_read_filter(struct db *db, struct id_segment *s, struct error *err)
{
    if (db_exec(db, &select_filter, DB_ARGS(db_int(s->segment_no)), read_filter, s, err) != 0)
        return -1;
    if (id_filter_size(&s->filter) == 0)
        return err_set(err, ERR_IO, "the id index is damaged: the filter of segment %lld",
                       (long long)s->segment_no);
    return 0;
}

int id_segment_save(struct db *db, const struct id_segment *s, enum id_segment_state state,
                    struct error *err)
{
    /* that of a merge's output comes when it is complete */
    const size_t filter_size = state == SEGMENT_BUILDING ? 0 : id_filter_size(&s->filter);
    const struct db_args args =
        DB_ARGS(db_int(s->segment_no), db_int(s->tier), db_int(state), db_int((int64_t)s->n),
                db_blob(str_from((const char *)s->fences, s->n_chunks * sizeof(*s->fences))),
                db_blob(str_from((const char *)s->filter.words, filter_size)));

    return db_run(db, &replace_segment, args, err);
}

int id_segment_mark(struct db *db, const struct id_segment *s, enum id_segment_state state,
                    struct error *err)
{
    return db_run(db, &update_segment_state, DB_ARGS(db_int(s->segment_no), db_int(state)), err);
}

int id_segment_append(struct db *db, struct id_segment *s, const struct id_entry *entries, size_t n,
                      struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(chunk_no(s, s->n_chunks)),
                db_blob(str_from((const char *)entries, n * sizeof(*entries))));

    assert(n > 0 && n <= ID_CHUNK_ENTRIES);
    assert(s->n_chunks == 0 || s->fences[s->n_chunks - 1] <= entries[0].hash); /* sorted */
    if (db_run(db, &insert_chunk, args, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        id_filter_add(&s->filter, entries[i].hash);
    s->fences[s->n_chunks++] = entries[0].hash;
    s->n += n;
    return 0;
}

struct chunk_reader {
    struct id_entry *entries;
    size_t n;
};

static bool read_chunk(void *ctx, const struct db_row *row)
{
    struct chunk_reader *reader = ctx;
    struct str bytes = db_get_blob(row, 0);

    reader->n = bytes.len / sizeof(struct id_entry);
    if (reader->n > ID_CHUNK_ENTRIES)
        reader->n = ID_CHUNK_ENTRIES;
    memcpy(reader->entries, bytes.data, reader->n * sizeof(struct id_entry));
    return false;
}

int id_segment_chunk(struct db *db, const struct id_segment *s, size_t chunk,
                     struct id_entry ret[ID_CHUNK_ENTRIES], size_t *ret_n, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(chunk_no(s, chunk)));
    struct chunk_reader reader = { .entries = ret };

    if (db_exec(db, &select_chunk, args, read_chunk, &reader, err) != 0)
        return -1;
    *ret_n = reader.n;
    return 0;
}

int id_segment_damaged(const struct id_segment *s, size_t chunk, struct error *err)
{
    return err_set(err, ERR_IO, "the id index is damaged: chunk %zu of segment %lld", chunk,
                   (long long)s->segment_no);
}

static bool read_last_chunk(void *ctx, const struct db_row *row)
{
    size_t *n = ctx;

    if (!db_is_null(row, 0))
        *n = (size_t)(db_get_int(row, 0) & ((1LL << CHUNK_BITS) - 1)) + 1;
    return false;
}

int id_segment_measure(struct db *db, struct id_segment *s, struct error *err)
{
    const struct db_args range =
        DB_ARGS(db_int(chunk_no(s, 0)), db_int((s->segment_no + 1) << CHUNK_BITS));
    size_t n = 0;

    if (db_exec(db, &select_last_chunk, range, read_last_chunk, &n, err) != 0)
        return -1;
    s->n_chunks = n;
    return 0;
}

size_t id_segment_find(const struct id_segment *s, uint64_t hash)
{
    size_t low = 0, high = s->n_chunks;

    /* the last chunk whose first hash is smaller: entries with an equal hash may start in it */
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (s->fences[middle] < hash)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? low - 1 : 0;
}

int id_segment_delete(struct db *db, const struct id_segment *s, size_t from, struct error *err)
{
    const struct db_args range =
        DB_ARGS(db_int(chunk_no(s, from)), db_int((s->segment_no + 1) << CHUNK_BITS));
    const struct db_args row = DB_ARGS(db_int(s->segment_no));

    if (db_run(db, &delete_chunks, range, err) != 0)
        return -1;
    return from == 0 ? db_run(db, &delete_segment, row, err) : 0;
}

/* --- merging --- */

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

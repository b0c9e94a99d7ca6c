/* ids.c - the ids in memory, the segments in the database, flushes and merges. */
#include "features/events/ids/ids.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "db/db.h"
#include "db/embedded.h"
#include "features/events/ids/id_segment.h"
#include "features/metrics.h"

enum {
    SEGMENT_IDS_MAX = 1 << 24, /* per segment: its filter then has 40 MB, in one row */
    MERGE_CHUNKS = 24,         /* written per transaction, at least … */
    MERGE_PACE = 8,            /* … plus this many per chunk of added ids, … */
    MERGE_HASTE = 4,           /* … plus one more per this many live segments */
    ID_BYTES_MAX = 1024,       /* 256 code points */
    DEADLINE_US = 1000,        /* how long a read with a deadline waits for the lock */
    PATH_BYTES = 4096,
    NUMBER_BYTES = 24,
};

/* clang-format off */
DB_QUERY(select_secret, "SELECT secret FROM id_secret");
DB_QUERY(insert_secret, "INSERT INTO id_secret (secret) VALUES ($1)");
DB_QUERY(select_log, "SELECT entries FROM id_log ORDER BY group_no");
DB_QUERY(insert_log, "INSERT INTO id_log (entries) VALUES ($1)");
DB_QUERY(delete_log, "DELETE FROM id_log");
DB_QUERY(select_file, "SELECT file FROM pragma_database_list WHERE name = 'main'");
/* clang-format on */

/* The changes of the current transaction, to be published or undone. */
struct ids_transaction {
    struct id_segment *flushed; /* contains all of recent and pending */
    bool merged;                /* the merge is complete */
    struct id_merge merge_before;
    bool deleted; /* chunks of the last garbage segment, except garbage_left */
    size_t garbage_left;
};

struct ids {
    uint8_t secret[SIP_KEY_BYTES];
    bool has_secret, damaged;
    size_t flush_at;

    struct rwlock lock; /* only the writer takes it for writing */
    struct id_table recent GUARDED_BY(lock);
    struct id_segments live GUARDED_BY(lock);

    /* used by the writer's thread only */
    struct id_table pending;
    int64_t next_segment_no;
    struct id_merge merge;
    struct id_segments garbage;
    struct ids_transaction now;
    char *filters; /* path of their files without the number; NULL: the database is no file */
};

uint64_t ids_hash(const struct ids *ids, enum id_kind kind, int64_t tenant_id, struct str id)
{
    char bytes[1 + sizeof(tenant_id) + ID_BYTES_MAX];
    size_t len = id.len < ID_BYTES_MAX ? id.len : ID_BYTES_MAX;

    bytes[0] = (char)kind;
    memcpy(bytes + 1, &tenant_id, sizeof(tenant_id));
    memcpy(bytes + 1 + sizeof(tenant_id), id.data, len);
    return digest_sip_keyed(ids->secret, str_from(bytes, 1 + sizeof(tenant_id) + len));
}

/* --- loading --- */

static bool read_secret(void *ctx, const struct db_row *row)
{
    struct ids *ids = ctx;
    struct str secret = db_get_blob(row, 0);

    ids->has_secret = true;
    ids->damaged = secret.len != SIP_KEY_BYTES;
    if (!ids->damaged)
        memcpy(ids->secret, secret.data, SIP_KEY_BYTES);
    return false;
}

static int load_secret(struct ids *ids, struct db *db, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_blob(str_from((const char *)ids->secret, SIP_KEY_BYTES)));

    if (db_exec(db, &select_secret, DB_NO_ARGS, read_secret, ids, err) != 0)
        return -1;
    if (ids->has_secret)
        return 0;
    digest_random(ids->secret, SIP_KEY_BYTES);
    return db_run(db, &insert_secret, args, err);
}

static bool read_log(void *ctx, const struct db_row *row)
{
    struct ids *ids = ctx;
    struct str bytes = db_get_blob(row, 0);
    struct id_entry entry;

    ids->damaged = ids->damaged || bytes.len % sizeof(entry) != 0;
    for (size_t at = 0; at + sizeof(entry) <= bytes.len; at += sizeof(entry)) {
        memcpy(&entry, bytes.data + at, sizeof(entry));
        id_table_add(&ids->recent, entry.hash, entry.number);
    }
    return true;
}

static void ids_load_segment(void *ctx, struct id_segment *s, enum id_segment_state state)
{
    struct ids *ids = ctx;

    if (s->segment_no >= ids->next_segment_no)
        ids->next_segment_no = s->segment_no + 1;
    id_segments_add(state == SEGMENT_LIVE ? &ids->live : &ids->garbage, s);
}

static bool read_file(void *ctx, const struct db_row *row)
{
    static const char suffix[] = "-filter-";
    struct ids *ids = ctx;
    const struct str path = db_is_null(row, 0) ? (struct str){ 0 } : db_get_text(row, 0);

    if (path.len == 0 || path.len + sizeof(suffix) + NUMBER_BYTES > PATH_BYTES)
        return false;
    ids->filters = mem_new(path.len + sizeof(suffix));
    memcpy(ids->filters, path.data, path.len);
    memcpy(ids->filters + path.len, suffix, sizeof(suffix));
    return false;
}

/* The path of the file of a segment's filter. False: it has none, as those that were not merged,
 * which are small. */
static bool filter_path(const struct ids *ids, const struct id_segment *s, char ret[PATH_BYTES])
{
    if (ids->filters == NULL || s->tier == 0)
        return false;
    (void)snprintf(ret, PATH_BYTES, "%s%lld", ids->filters, (long long)s->segment_no);
    return true;
}

/* Segment numbers are reused after a backup is restored, so the tag also covers the contents: the
 * first hash of each chunk. */
static uint32_t filter_tag(const struct ids *ids, const struct id_segment *s)
{
    const uint64_t all[] = { (uint64_t)s->segment_no, s->n,
                             digest_sip_keyed(ids->secret,
                                              str_from((const char *)s->fences,
                                                       s->n_chunks * sizeof(*s->fences))) };

    return (uint32_t)digest_sip_keyed(ids->secret, str_from((const char *)all, sizeof(all)));
}

/* For a segment that is complete and no other thread knows yet. */
static void move_filter(const struct ids *ids, struct id_segment *s)
{
    char path[PATH_BYTES];

    if (filter_path(ids, s, path))
        (void)id_filter_move(&s->filter, path, filter_tag(ids, s));
}

/* A file that is missing or does not fit is made again from the segment's row. */
static int load_filter(const struct ids *ids, struct db *db, struct id_segment *s,
                       struct error *err)
{
    char path[PATH_BYTES];

    if (filter_path(ids, s, path) &&
        id_filter_map(&s->filter, path, s->filter_size, filter_tag(ids, s)))
        return 0;
    if (id_segment_read_filter(db, s, err) != 0)
        return -1;
    move_filter(ids, s);
    return 0;
}

/* Threads that have it open may go on. */
static void remove_filter(const struct ids *ids, const struct id_segment *s)
{
    char path[PATH_BYTES];

    if (filter_path(ids, s, path))
        (void)unlink(path);
}

/* Garbage needs none. */
static int load_filters(struct ids *ids, const struct id_segments *live, struct db *db,
                        struct error *err)
{
    if (db_exec(db, &select_file, DB_NO_ARGS, read_file, ids, err) != 0)
        return -1;
    for (size_t i = 0; i < live->n; i++)
        if (load_filter(ids, db, live->items[i], err) != 0)
            return -1;
    return 0;
}

static int load(struct ids *ids, struct db *db, struct error *err)
{
    if (load_secret(ids, db, err) != 0 || id_segments_load(db, ids_load_segment, ids, err) != 0 ||
        load_filters(ids, &ids->live, db, err) != 0 ||
        db_exec(db, &select_log, DB_NO_ARGS, read_log, ids, err) != 0)
        return -1;
    /* A segment left unfinished by an earlier process does not know its size. */
    for (size_t i = 0; i < ids->garbage.n; i++)
        if (id_segment_measure(db, ids->garbage.items[i], err) != 0)
            return -1;
    return ids->damaged ? err_set(err, ERR_IO, "the id index is damaged") : 0;
}

int ids_new(struct db *db, size_t flush_at, struct ids **ret, struct error *err)
{
    struct ids *ids = NEW(struct ids);

    rwlock_init_writer_first(&ids->lock);
    ids->next_segment_no = 1;
    ids->flush_at = flush_at;
    if (load(ids, db, err) != 0) {
        ids_free(ids);
        return -1;
    }
    *ret = ids;
    return 0;
}

void ids_free(struct ids *ids)
{
    if (ids == NULL)
        return;
    id_segments_done(&ids->live);
    id_segments_done(&ids->garbage);
    id_segment_free(ids->merge.output);
    id_segment_free(ids->now.flushed);
    id_table_done(&ids->recent);
    id_table_done(&ids->pending);
    rwlock_done(&ids->lock);
    free(ids->filters);
    free(ids);
}

/* --- finding --- */

/* Compares the candidates of one segment. */
static int find_in_segment(const struct id_segment *s, struct db *db, const struct ids_query *query,
                           int64_t *ret, struct error *err)
{
    struct id_entry entries[ID_CHUNK_ENTRIES];
    bool same = false;
    size_t n;

    for (size_t chunk = id_segment_find(s, query->hash);
         chunk < s->n_chunks && s->fences[chunk] <= query->hash; chunk++) {
        if (id_segment_chunk(db, s, chunk, entries, &n, err) != 0)
            return -1;
        if (n == 0)
            return id_segment_damaged(s, chunk, err);
        for (size_t i = 0; i < n; i++) {
            if (entries[i].hash != query->hash)
                continue;
            if (query->same(query->ctx, db, entries[i].number, &same, err) != 0)
                return -1;
            if (same) {
                *ret = entries[i].number;
                return 0;
            }
        }
    }
    return 0;
}

static int find_locked(const struct ids *ids, struct db *db, const struct ids_query *query,
                       int64_t *ret, struct error *err) REQUIRES_SHARED(ids->lock)
{
    size_t at = 0, passes = 0, i;
    bool same = false;
    int64_t number;
    int r = 0;

    while ((number = id_table_next(&ids->recent, query->hash, &at)) != 0) {
        if (query->same(query->ctx, db, number, &same, err) != 0)
            return -1;
        if (same) {
            *ret = number;
            return 0;
        }
    }
    for (i = 0; i < ids->live.n; i++) /* overlap the cache misses of all filters */
        id_filter_fetch(&ids->live.items[i]->filter, query->hash);
    for (i = 0; i < ids->live.n && *ret == 0 && r == 0; i++) {
        if (!id_filter_maybe(&ids->live.items[i]->filter, query->hash))
            continue;
        passes++;
        r = find_in_segment(ids->live.items[i], db, query, ret, err);
    }
    metric_add(METRIC_ID_FILTER_PASSES, passes); /* together: each is an access to memory */
    metric_add(METRIC_ID_FILTER_STOPS, i - passes);
    return r;
}

/* The writer holds it for a tenth of a millisecond after each transaction, but may itself be
 * blocked by a reader without a deadline. */
static bool lock_timed(struct rwlock *lock) TRY_ACQUIRE_SHARED(true, *lock)
{
    const struct timespec until = clock_deadline(CLOCK_REALTIME, DEADLINE_US);

    return rwlock_read_until(lock, &until);
}

int ids_find(struct ids *ids, struct db *db, const struct ids_query *query, int64_t *ret,
             struct error *err)
{
    int r;

    *ret = 0;
    if (!db_has_deadline(db))
        rwlock_read(&ids->lock);
    else if (!lock_timed(&ids->lock))
        return err_set(err, ERR_BUSY, "the id index is locked by the writer");
    r = find_locked(ids, db, query, ret, err);
    rwlock_release(&ids->lock);
    return r;
}

int64_t ids_pending(const struct ids *ids, uint64_t hash, size_t *at)
{
    return id_table_next(&ids->pending, hash, at);
}

/* --- adding --- */

void ids_add(struct ids *ids, uint64_t hash, int64_t number)
{
    assert(thread_may_be("muster-writer"));
    id_table_add(&ids->pending, hash, number);
}

/* Writes all ids in memory as a segment, and empties the log. */
static int flush(struct ids *ids, struct db *db, struct error *err) REQUIRES_SHARED(ids->lock)
{
    size_t n = ids->recent.n + ids->pending.n;
    struct id_entry *unsorted = mem_alloc(2 * n * sizeof(*unsorted)), *entries = unsorted + n;
    struct id_segment *s = id_segment_new(ids->next_segment_no, 0, n);
    int r = -1;

    id_table_copy(&ids->recent, unsorted);
    id_table_copy(&ids->pending, unsorted + ids->recent.n);
    id_sort(unsorted, n, entries);
    for (size_t at = 0; at < n; at += ID_CHUNK_ENTRIES) {
        size_t size = n - at < ID_CHUNK_ENTRIES ? n - at : ID_CHUNK_ENTRIES;

        if (id_segment_append(db, s, entries + at, size, err) != 0)
            goto out;
    }
    if (id_segment_save(db, s, SEGMENT_LIVE, err) != 0 ||
        db_run(db, &delete_log, DB_NO_ARGS, err) != 0)
        goto out;
    r = 0;
out:
    free(unsorted);
    ids->now.flushed = r == 0 ? s : NULL;
    if (r != 0)
        id_segment_free(s);
    ids->next_segment_no++; /* never reused, even after a rollback */
    return r;
}

static int append_log(struct ids *ids, struct db *db, struct error *err)
{
    size_t size = ids->pending.n * sizeof(struct id_entry);
    struct id_entry *entries = mem_new(size);
    const struct db_args args = DB_ARGS(db_blob(str_from((const char *)entries, size)));
    int r;

    id_table_copy(&ids->pending, entries);
    r = db_run(db, &insert_log, args, err);
    free(entries);
    return r;
}

/* ID_MERGE_INPUTS live segments of one tier, oldest first; 0 when no tier has that many. Segments
 * whose merge would be too large are left alone: its filter must fit into a row. */
static size_t find_mergeable(const struct ids *ids, struct id_segment *ret[ID_MERGE_INPUTS])
    REQUIRES_SHARED(ids->lock)
{
    for (int tier = 0; tier < 16; tier++) {
        size_t n = 0, total = 0;

        for (size_t i = 0; i < ids->live.n && n < ID_MERGE_INPUTS; i++) {
            if (ids->live.items[i]->tier != tier)
                continue;
            total += ids->live.items[i]->n;
            ret[n++] = ids->live.items[i];
        }
        if (n == ID_MERGE_INPUTS && total <= SEGMENT_IDS_MAX)
            return n;
    }
    return 0;
}

/* An id is merged once per tier, so merging must write several times what is added to keep up; and
 * more while small segments accumulate behind a large merge. */
static size_t merge_chunks(const struct ids *ids) REQUIRES_SHARED(ids->lock)
{
    size_t pace = MERGE_PACE + ids->live.n / MERGE_HASTE;

    return MERGE_CHUNKS + ids->pending.n * pace / ID_CHUNK_ENTRIES;
}

static int merge_some(struct ids *ids, struct db *db, struct error *err) REQUIRES_SHARED(ids->lock)
{
    struct id_segment *inputs[ID_MERGE_INPUTS];
    size_t n;

    if (ids->merge.output == NULL) {
        n = find_mergeable(ids, inputs);
        if (n == 0)
            return 0;
        if (id_merge_begin(db, inputs, n, ids->next_segment_no++, &ids->merge, err) != 0)
            return -1;
    }
    return id_merge_step(db, &ids->merge, merge_chunks(ids), &ids->now.merged, err);
}

static int delete_some(struct ids *ids, struct db *db, struct error *err) REQUIRES_SHARED(ids->lock)
{
    size_t most = 2 * merge_chunks(ids); /* faster than merges make them */
    const struct id_segment *s;

    if (ids->garbage.n == 0)
        return 0;
    s = ids->garbage.items[ids->garbage.n - 1];
    ids->now.deleted = true;
    ids->now.garbage_left = s->n_chunks > most ? s->n_chunks - most : 0;
    return id_segment_delete(db, s, ids->now.garbage_left, err);
}

int ids_save(struct ids *ids, struct db *db, struct error *err)
{
    assert(thread_may_be("muster-writer") && ids->now.flushed == NULL);
    rwlock_only_writer(&ids->lock);
    if (ids->pending.n > 0) {
        bool full = ids->recent.n + ids->pending.n >= ids->flush_at;

        if ((full ? flush(ids, db, err) : append_log(ids, db, err)) != 0)
            return -1;
    }
    if (merge_some(ids, db, err) != 0)
        return -1;
    return delete_some(ids, db, err);
}

/* --- after the transaction --- */

static void retire(struct ids *ids, const struct id_segment *s) REQUIRES(ids->lock)
{
    size_t kept = 0;

    for (size_t i = 0; i < ids->live.n; i++) {
        if (ids->live.items[i] == s)
            id_segments_add(&ids->garbage, ids->live.items[i]);
        else
            ids->live.items[kept++] = ids->live.items[i];
    }
    assert(kept + 1 == ids->live.n); /* it was live */
    ids->live.n = kept;
}

static void settle_garbage(struct ids *ids)
{
    struct id_segment *s;

    if (!ids->now.deleted)
        return;
    s = ids->garbage.items[ids->garbage.n - 1];
    s->n_chunks = ids->now.garbage_left;
    if (s->n_chunks == 0) {
        id_segment_free(s);
        ids->garbage.n--;
    }
}

/* After a completed merge: moves the output's filter to a file, and removes the files of the
 * inputs, which will not be opened again. */
static void settle_filters(struct ids *ids)
{
    move_filter(ids, ids->merge.output);
    for (size_t i = 0; i < ids->merge.n_inputs; i++)
        remove_filter(ids, ids->merge.inputs[i].segment);
}

/* Gives up the files that were found damaged. */
static void check_filters(const struct ids *ids, const struct id_segments *live)
{
    for (size_t i = 0; i < live->n; i++) {
        struct id_segment *s = live->items[i];

        if (s->file_lost || !atomic_load_explicit(&s->filter.damaged, memory_order_relaxed))
            continue;
        s->file_lost = true;
        remove_filter(ids, s);
        log_write(LOG_WARNING, "ids",
                  "%s%lld is damaged: some lookups are slower until the next start rebuilds it",
                  ids->filters, (long long)s->segment_no);
    }
}

static void publish(struct ids *ids) REQUIRES(ids->lock)
{
    if (ids->now.flushed != NULL) {
        id_segments_add(&ids->live, ids->now.flushed);
        id_table_clear(&ids->recent);
    } else {
        struct id_entry *entries = mem_new((ids->pending.n + 1) * sizeof(*entries));

        id_table_copy(&ids->pending, entries);
        for (size_t i = 0; i < ids->pending.n; i++)
            id_table_add(&ids->recent, entries[i].hash, entries[i].number);
        free(entries);
    }
    if (ids->now.merged) {
        for (size_t i = 0; i < ids->merge.n_inputs; i++)
            retire(ids, ids->merge.inputs[i].segment);
        id_segments_add(&ids->live, ids->merge.output);
        ids->merge = (struct id_merge){ 0 };
    }
}

void ids_committed(struct ids *ids)
{
    assert(thread_may_be("muster-writer"));
    settle_garbage(ids);
    if (ids->now.merged)
        settle_filters(ids);
    check_filters(ids, &ids->live);
    rwlock_write(&ids->lock);
    publish(ids);
    rwlock_release(&ids->lock);
    id_table_clear(&ids->pending);
    ids->now = (struct ids_transaction){ .merge_before = ids->merge };
}

void ids_rolled_back(struct ids *ids)
{
    assert(thread_may_be("muster-writer"));
    id_merge_undo(&ids->merge, &ids->now.merge_before);
    id_segment_free(ids->now.flushed);
    id_table_clear(&ids->pending);
    ids->now = (struct ids_transaction){ .merge_before = ids->merge };
}

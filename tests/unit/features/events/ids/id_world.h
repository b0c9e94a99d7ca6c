/* id_world.h - an index of ids beside a plain list of what it must hold. */
#pragma once
#include <stdlib.h>

#include "db/db.h"
#include "features/events/ids/id_segment.h"
#include "features/events/ids/ids.h"
#include "unit/random.h"
#include "unit/temp_db.h"

enum { ID_WORLD_MAX = 1 << 20 };

/* The thing with number n has keys[n - 1]; the first n_committed are committed, those up to n
 * added by the transaction under way. */
struct id_world {
    struct db *db;
    char url[TEMP_DB_URL_MAX];
    struct ids *ids;
    size_t flush_at;
    uint64_t hash_mask; /* fewer bits, more collisions */
    struct random random;
    uint64_t *keys;
    size_t n, n_committed;
};

static inline void id_must(int r, const struct error *err)
{
    if (r != 0)
        fail_msg("%s", err->text);
}

static inline void id_world_reopen(struct id_world *w)
{
    struct error err = { 0 };

    ids_free(w->ids);
    w->ids = NULL;
    w->n = w->n_committed;
    id_must(ids_new(w->db, w->flush_at, &w->ids, &err), &err);
}

static inline void id_world_init(struct id_world *w, size_t flush_at, uint64_t seed)
{
    struct error err = { 0 };

    *w = (struct id_world){ .flush_at = flush_at,
                            .hash_mask = UINT64_MAX,
                            .random = { seed },
                            .keys = malloc(ID_WORLD_MAX * sizeof(uint64_t)) };
    (void)snprintf(w->url, sizeof(w->url), "%s", temp_db_migrated());
    w->db = temp_db_open(w->url, DB_WRITER);
    /* No power fails here, and thousands of transactions need not wait for the disk. */
    id_must(db_script(w->db, "PRAGMA synchronous = OFF", &err), &err);
    id_world_reopen(w);
}

static inline void id_world_done(struct id_world *w)
{
    ids_free(w->ids);
    db_close(w->db);
    free(w->keys);
}

/* Keys are random already. The high bits stay, since they choose chunk and filter block. */
static inline uint64_t id_world_hash(const struct id_world *w, uint64_t key)
{
    return key & w->hash_mask;
}

/* What ids_find() looks for, and how often it met it. */
struct id_wanted {
    const struct id_world *world;
    uint64_t key;
    size_t met;
    bool see_all; /* say "no" even to the right one, so that every place is looked at */
};

static inline int id_wanted_same(void *ctx, struct db *db, int64_t number, bool *ret_same,
                                 struct error *err)
{
    struct id_wanted *wanted = ctx;

    (void)db;
    if (number < 1 || (size_t)number > wanted->world->n)
        return err_set(err, ERR_INTERNAL, "the index invented number %lld", (long long)number);
    *ret_same = wanted->world->keys[number - 1] == wanted->key;
    wanted->met += *ret_same;
    if (wanted->see_all)
        *ret_same = false;
    return 0;
}

/* The number of the committed thing with this key, or 0; by any connection. */
static inline int64_t id_world_find(struct id_world *w, struct db *db, uint64_t key)
{
    struct id_wanted wanted = { .world = w, .key = key };
    const struct ids_query query = { id_world_hash(w, key), id_wanted_same, &wanted };
    struct error err = { 0 };
    int64_t number;

    id_must(ids_find(w->ids, db, &query, &number, &err), &err);
    return number;
}

/* In how many places the index has it. */
static inline size_t id_world_places(struct id_world *w, uint64_t key)
{
    struct id_wanted wanted = { .world = w, .key = key, .see_all = true };
    const struct ids_query query = { id_world_hash(w, key), id_wanted_same, &wanted };
    struct error err = { 0 };
    int64_t number;

    id_must(ids_find(w->ids, w->db, &query, &number, &err), &err);
    return wanted.met;
}

/* Is it among what the transaction under way added? */
static inline int64_t id_world_pending(const struct id_world *w, uint64_t key)
{
    size_t at = 0;
    int64_t number;

    while ((number = ids_pending(w->ids, id_world_hash(w, key), &at)) != 0)
        if (w->keys[number - 1] == key)
            return number;
    return 0;
}

static inline void id_world_add(struct id_world *w, uint64_t key)
{
    if (w->n == ID_WORLD_MAX)
        fail_msg("too many ids for this test");
    w->keys[w->n++] = key;
    ids_add(w->ids, id_world_hash(w, key), (int64_t)w->n);
}

static inline void id_world_add_some(struct id_world *w, size_t n)
{
    while (n-- > 0)
        id_world_add(w, random_next(&w->random));
}

static inline void id_world_begin(struct id_world *w)
{
    struct error err = { 0 };

    id_must(db_begin(w->db, &err), &err);
}

static inline void id_world_commit(struct id_world *w)
{
    struct error err = { 0 };

    id_must(ids_save(w->ids, w->db, &err), &err);
    id_must(db_commit(w->db, &err), &err);
    ids_committed(w->ids);
    w->n_committed = w->n;
}

static inline void id_world_roll_back(struct id_world *w)
{
    db_rollback(w->db);
    ids_rolled_back(w->ids);
    w->n = w->n_committed;
}

/* A transaction that adds `n` new ones. */
static inline void id_world_grow(struct id_world *w, size_t n)
{
    id_world_begin(w);
    id_world_add_some(w, n);
    id_world_commit(w);
}

/* --- what is in the database --- */

#define ID_WORLD_COUNT(name, text)                                                                 \
    static inline int64_t name(const struct id_world *w)                                           \
    {                                                                                              \
        static const struct db_query q = { .sql = (text) };                                        \
                                                                                                   \
        return temp_db_int(w->db, &q, DB_NO_ARGS);                                                 \
    }

/* clang-format off */
ID_WORLD_COUNT(count_live_segments, "SELECT COUNT(*) FROM id_segments WHERE state = 1")
ID_WORLD_COUNT(count_other_segments, "SELECT COUNT(*) FROM id_segments WHERE state <> 1")
ID_WORLD_COUNT(count_tiers, "SELECT COALESCE(MAX(tier), -1) + 1 FROM id_segments WHERE state = 1")
ID_WORLD_COUNT(count_logged, "SELECT COALESCE(SUM(LENGTH(entries)), 0) / 16 FROM id_log")
ID_WORLD_COUNT(count_in_segments,
               "SELECT COALESCE(SUM(LENGTH(c.entries)), 0) / 16 FROM id_chunks c"
               " JOIN id_segments s ON s.segment_no = c.chunk_no >> 32 AND s.state = 1")
ID_WORLD_COUNT(count_said_in_segments,
               "SELECT COALESCE(SUM(n), 0) FROM id_segments WHERE state = 1")
ID_WORLD_COUNT(count_orphans,
               "SELECT COUNT(*) FROM id_chunks WHERE chunk_no >> 32 NOT IN"
               " (SELECT segment_no FROM id_segments)")
ID_WORLD_COUNT(count_foreign_chunks, /* of segments that are merged or deleted */
               "SELECT COUNT(*) FROM id_chunks WHERE chunk_no >> 32 NOT IN"
               " (SELECT segment_no FROM id_segments WHERE state = 1)")
/* clang-format on */

/* Log and live segments hold every committed id once, and no chunk is without a segment. */
static inline void id_world_audit(const struct id_world *w)
{
    CHECK_INT(count_logged(w) + count_in_segments(w), w->n_committed);
    CHECK_INT(count_in_segments(w), count_said_in_segments(w));
    CHECK_INT(count_orphans(w), 0);
}

/* Every committed id is found, in one place. */
static inline void id_world_check_all(struct id_world *w)
{
    for (size_t i = 0; i < w->n_committed; i++) {
        CHECK_INT(id_world_find(w, w->db, w->keys[i]), i + 1);
        CHECK_INT(id_world_places(w, w->keys[i]), 1);
    }
}

/* Merges and deletes until there is nothing left to do; then nothing is left over. */
static inline void id_world_settle(struct id_world *w)
{
    int idle = 0;

    for (int i = 0; idle < 3; i++) {
        CHECK(i < 10000);
        id_world_grow(w, 0);
        idle = count_other_segments(w) == 0 ? idle + 1 : 0;
    }
    id_world_audit(w);
    CHECK_INT(count_foreign_chunks(w), 0);
}

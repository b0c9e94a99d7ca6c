/* test_ids.c - the index of ids holds what was committed, all of it and nothing else. */
#include "base/base.h"
#include "hooks/fault.h"
#include "unit/features/events/ids/id_world.h"

/* clang-format off */
static const struct scene {
    size_t flush_at;
    uint64_t hash_mask;
    size_t adds_max; /* in a transaction */
    int transactions;
    int tiers; /* that it must at least come to */
} scenes[] = {
    { 40,   UINT64_MAX,           12,  1200, 3 },
    { 40,   0xfff0000000000000U,  12,  800,  3 }, /* up to several numbers under each hash */
    { 40,   1,                    6,   300,  2 }, /* two hashes for everything */
    { 1000, UINT64_MAX,           300, 250,  2 }, /* large transactions */
    { 1,    UINT64_MAX,           3,   400,  3 }, /* a segment each time */
};
/* clang-format on */

/* Looks for something known and for something new, as an addition does. */
static void look(struct id_world *w)
{
    uint64_t unknown = random_next(&w->random);
    size_t i;

    CHECK_INT(id_world_find(w, w->db, unknown), 0);
    CHECK_INT(id_world_pending(w, unknown), 0);
    if (w->n == 0)
        return;
    i = random_below(&w->random, w->n);
    CHECK_INT(id_world_find(w, w->db, w->keys[i]), i < w->n_committed ? i + 1 : 0);
    CHECK_INT(id_world_pending(w, w->keys[i]), i < w->n_committed ? 0 : i + 1);
}

/* One transaction that ends in one of the ways that there are. */
static void live(struct id_world *w, size_t adds_max)
{
    size_t adds = random_below(&w->random, adds_max + 1);
    uint64_t end = random_below(&w->random, 100);
    struct error err = { 0 };

    id_world_begin(w);
    for (size_t i = 0; i < adds; i++) {
        look(w);
        id_world_add_some(w, 1);
    }
    if (end < 5) { /* undone before it was saved */
        id_world_roll_back(w);
        return;
    }
    if (end < 80) {
        id_world_commit(w);
        return;
    }
    id_must(ids_save(w->ids, w->db, &err), &err);
    if (end < 90) {
        id_world_roll_back(w);
    } else if (end < 95) { /* the process ends before the commit … */
        db_rollback(w->db);
        id_world_reopen(w);
    } else { /* … and after it */
        id_must(db_commit(w->db, &err), &err);
        w->n_committed = w->n;
        id_world_reopen(w);
    }
}

TEST(the_index_holds_what_was_committed_whatever_happens_to_transactions)
{
    for (size_t i = 0; i < COUNT_OF(scenes); i++) {
        const struct scene *scene = &scenes[i];
        struct id_world w;

        id_world_init(&w, scene->flush_at, i);
        w.hash_mask = scene->hash_mask;
        for (int t = 0; t < scene->transactions; t++) {
            live(&w, scene->adds_max);
            if (t % 50 == 0)
                id_world_audit(&w);
        }
        id_world_check_all(&w);
        id_world_settle(&w);
        CHECK(count_tiers(&w) >= scene->tiers);
        id_world_reopen(&w);
        id_world_check_all(&w);
        id_world_done(&w);
    }
}

/* More entries under one hash than fit into a chunk, before and behind others. */
TEST(entries_of_one_hash_are_found_across_chunks)
{
    struct id_world w;

    id_world_init(&w, 1000, 7);
    w.hash_mask = 3ULL << 62; /* four hashes */
    for (int i = 0; i < 9; i++)
        id_world_grow(&w, 1000);
    id_world_settle(&w);
    for (size_t i = 0; i < w.n; i += 97) {
        CHECK_INT(id_world_find(&w, w.db, w.keys[i]), i + 1);
        CHECK_INT(id_world_places(&w, w.keys[i]), 1);
    }
    id_world_done(&w);
}

/* Tries a transaction of `adds` until no call of it fails any more; how many tries failed? */
static int add_despite_faults(struct id_world *w, size_t adds)
{
    struct db *real = w->db;

    for (int nth = 0;; nth++) {
        struct db *db = db_fault_new(real, nth, ERR_FULL);
        struct error err = { 0 };
        bool fired;

        if (db_begin(db, &err) == 0) {
            id_world_add_some(w, adds);
            if (ids_save(w->ids, db, &err) == 0 && db_commit(db, &err) == 0) {
                ids_committed(w->ids);
                w->n_committed = w->n;
            } else {
                db_rollback(db);
                ids_rolled_back(w->ids);
                w->n = w->n_committed;
            }
        }
        fired = db_fault_fired(db);
        CHECK(fired == (err.code == ERR_FULL));
        db_close(db);
        if (!fired)
            return nth;
    }
}

TEST(whichever_call_of_a_transaction_fails_nothing_is_lost_or_invented)
{
    static const size_t sizes[][3] = { /* flush_at, adds, transactions */
                                       { 40, 15, 260 },
                                       { 1000, 500, 60 }
    };
    int fired_most = 0;

    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct id_world w;

        id_world_init(&w, sizes[i][0], 11);
        for (size_t t = 0; t < sizes[i][2]; t++) {
            int fired = add_despite_faults(&w, sizes[i][1]);

            fired_most = fired > fired_most ? fired : fired_most;
            id_world_audit(&w);
        }
        id_world_check_all(&w);
        id_world_settle(&w);
        CHECK(count_tiers(&w) >= 2);
        id_world_reopen(&w);
        id_world_check_all(&w);
        id_world_done(&w);
    }
    CHECK(fired_most > 30); /* a flush, a merge and a deletion were among them */
}

/* A merge goes over several transactions, and each of them may be undone, whole or in its midst. */
TEST(any_step_of_a_merge_may_be_undone)
{
    struct id_world w;
    int steps = 0, fired = 0;

    id_world_init(&w, 4000, 13);
    while (count_other_segments(&w) == 0)
        id_world_grow(&w, 100);
    while (count_other_segments(&w) == 1) {
        struct error err = { 0 };

        id_world_begin(&w);
        id_world_add_some(&w, 1);
        id_must(ids_save(w.ids, w.db, &err), &err);
        id_world_roll_back(&w);
        fired += add_despite_faults(&w, 1);
        id_world_audit(&w);
        steps++;
    }
    CHECK(steps >= 4);
    CHECK(fired > 200);
    id_world_check_all(&w);
    id_world_settle(&w);
    CHECK_INT(count_live_segments(&w), 1);
    id_world_check_all(&w);
    id_world_done(&w);
}

/* Large transactions bring many segments: merging must keep pace, whatever their size. */
TEST(segments_do_not_pile_up_under_large_transactions)
{
    struct id_world w;

    id_world_init(&w, 1000, 5);
    for (int i = 0; i < 100; i++) {
        id_world_grow(&w, 10000);
        CHECK(count_live_segments(&w) < 40);
        CHECK(count_other_segments(&w) < 40);
    }
    id_world_settle(&w);
    id_world_done(&w);
}

/* What would become too large for a row is left as it is, and nothing fails for it. */
TEST(segments_that_are_large_enough_are_not_merged)
{
    static const struct db_query fill = {
        .sql = "WITH RECURSIVE i (x) AS (SELECT 100 UNION ALL SELECT x + 1 FROM i WHERE x < 107)"
               " INSERT INTO id_segments SELECT x, 2, state, 8388608, fences, filter FROM i,"
               " (SELECT * FROM id_segments LIMIT 1)",
    };
    struct error err = { 0 };
    struct id_world w;

    id_world_init(&w, 10, 5);
    id_world_grow(&w, 10);
    id_must(db_exec(w.db, &fill, DB_NO_ARGS, NULL, NULL, &err), &err);
    id_world_reopen(&w);
    for (int i = 0; i < 3; i++)
        id_world_grow(&w, 3);
    CHECK_INT(count_live_segments(&w), 9);
    CHECK_INT(count_other_segments(&w), 0);
    id_world_done(&w);
}

/* A merge that was under way when the process ended is done again. What it left goes away a little
 * at a time: it may be gigabytes. */
TEST(what_an_interrupted_merge_left_goes_away)
{
    struct id_world w;
    int64_t before;

    id_world_init(&w, 4000, 3);
    while (count_other_segments(&w) == 0)
        id_world_grow(&w, 100);
    for (int i = 0; i < 3; i++)
        id_world_grow(&w, 1);
    before = count_foreign_chunks(&w);
    CHECK(before > 90);
    id_world_reopen(&w);
    id_world_grow(&w, 1);
    CHECK(count_foreign_chunks(&w) > before - 60);
    id_world_settle(&w);
    CHECK_INT(count_live_segments(&w), 1);
    id_world_check_all(&w);
    id_world_done(&w);
}

/* --- damage --- */

static void check_damage(struct id_world *w, const char *sql, bool at_opening)
{
    struct error err = { 0 };
    struct id_wanted wanted = { .world = w, .key = w->keys[0] };
    const struct ids_query query = { id_world_hash(w, w->keys[0]), id_wanted_same, &wanted };
    struct ids *ids = NULL;
    int64_t number;

    id_must(db_script(w->db, sql, &err), &err);
    if (at_opening) {
        CHECK(ids_new(w->db, w->flush_at, &ids, &err) != 0);
    } else {
        id_must(ids_new(w->db, w->flush_at, &ids, &err), &err);
        CHECK(ids_find(ids, w->db, &query, &number, &err) != 0);
    }
    CHECK_INT(err.code, ERR_IO);
    CHECK(strstr(err.text, "damaged") != NULL);
    ids_free(ids);
}

/* An id that cannot be looked for is not one that is not there. */
TEST(damage_is_told_and_not_taken_for_absence)
{
    static const struct {
        const char *sql;
        bool at_opening;
    } rows[] = {
        { "DELETE FROM id_chunks", false },
        { "UPDATE id_chunks SET entries = x''", false },
        { "UPDATE id_segments SET filter = x'00'", true },
        { "UPDATE id_segments SET fences = x'00'", true },
        { "UPDATE id_secret SET secret = x'00'", true },
        { "UPDATE id_log SET entries = substr(entries, 2)", true },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct id_world w;

        id_world_init(&w, 100, i);
        id_world_grow(&w, 100);
        id_world_grow(&w, 10);
        check_damage(&w, rows[i].sql, rows[i].at_opening);
        id_world_done(&w);
    }
}

/* --- hashes --- */

TEST(a_hash_depends_on_kind_tenant_id_and_store)
{
    struct id_world w, other;
    const struct str id = STR_LIT("a");
    uint64_t hash;

    id_world_init(&w, 10, 1);
    id_world_init(&other, 10, 1);
    hash = ids_hash(w.ids, ID_EVENT, 1, id);
    CHECK(hash == ids_hash(w.ids, ID_EVENT, 1, id));
    CHECK(hash != ids_hash(w.ids, ID_RUN, 1, id));
    CHECK(hash != ids_hash(w.ids, ID_EVENT, 2, id));
    CHECK(hash != ids_hash(w.ids, ID_EVENT, 1, STR_LIT("b")));
    CHECK(hash != ids_hash(w.ids, ID_EVENT, 1, STR_LIT("")));
    CHECK(hash != ids_hash(other.ids, ID_EVENT, 1, id)); /* a client cannot make them collide */
    id_world_reopen(&w);
    CHECK(hash == ids_hash(w.ids, ID_EVENT, 1, id));
    id_world_done(&w);
    id_world_done(&other);
}

/* test_ids_readers.c - threads find every committed id while the writer merges segments. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "unit/features/events/ids/id_world.h"

enum { READERS = 3, ADDS = 40, ROUNDS = 600, FOUND = 100 };

struct shared {
    struct id_world *world;
    atomic_size_t n_committed;
    atomic_int n_satisfied; /* readers that have found FOUND ids, or something wrong */
    atomic_bool done;
};

struct reader {
    struct shared *shared;
    struct random random;
    size_t found;
    const char *wrong;
    pthread_t id;
};

/* Numbers in the index are committed, so their keys do not change any more. */
static int same_key(void *ctx, struct db *db, int64_t number, bool *ret_same, struct error *err)
{
    const struct id_wanted *wanted = ctx;

    (void)db;
    (void)err;
    *ret_same = wanted->world->keys[number - 1] == wanted->key;
    return 0;
}

static const char *read_once(struct reader *r, struct db *db)
{
    struct id_world *w = r->shared->world;
    size_t n = atomic_load(&r->shared->n_committed);
    bool known = n > 0 && random_percent(&r->random, 80);
    size_t i = known ? random_below(&r->random, n) : 0;
    struct id_wanted wanted = { w, known ? w->keys[i] : random_next(&r->random), 0, false };
    const struct ids_query query = { id_world_hash(w, wanted.key), same_key, &wanted };
    struct error err = { 0 };
    int64_t number;

    if (ids_find(w->ids, db, &query, &number, &err) != 0)
        return "ids_find failed";
    r->found += known;
    if (known)
        return (size_t)number == i + 1 ? NULL : "a committed id was not found";
    return number == 0 ? NULL : "an id was found that is not there";
}

static void *keep_reading(void *arg)
{
    struct reader *r = arg;
    struct db *db = NULL;

    if (db_open(r->shared->world->url, DB_READER, &db, NULL) != 0)
        r->wrong = "cannot open the database";
    while (r->wrong == NULL && !atomic_load(&r->shared->done)) {
        bool was_few = r->found < FOUND;

        r->wrong = read_once(r, db);
        if (was_few && r->wrong == NULL && r->found == FOUND)
            atomic_fetch_add(&r->shared->n_satisfied, 1);
    }
    if (r->wrong != NULL)
        atomic_fetch_add(&r->shared->n_satisfied, 1);
    db_close(db);
    return NULL;
}

/* The writer must get its turn however busy the readers are; halfway it lets them have theirs. */
static void write_all(struct id_world *w, struct shared *shared)
{
    for (int i = 0; i < ROUNDS; i++) {
        while (i == ROUNDS / 2 && atomic_load(&shared->n_satisfied) < READERS)
            (void)sched_yield();
        id_world_begin(w);
        id_world_add_some(w, ADDS);
        if (i % 7 == 3) {
            struct error err = { 0 };

            id_must(ids_save(w->ids, w->db, &err), &err);
            id_world_roll_back(w);
            continue;
        }
        id_world_commit(w);
        atomic_store(&shared->n_committed, w->n_committed);
    }
}

TEST(readers_find_every_committed_id_while_the_writer_merges)
{
    struct reader readers[READERS];
    struct shared shared = { 0 };
    struct id_world w;

    id_world_init(&w, 100, 17);
    shared.world = &w;
    for (size_t i = 0; i < READERS; i++) {
        readers[i] = (struct reader){ .shared = &shared, .random = { 100 + i } };
        CHECK(pthread_create(&readers[i].id, NULL, keep_reading, &readers[i]) == 0);
    }
    write_all(&w, &shared);
    atomic_store(&shared.done, true);
    for (size_t i = 0; i < READERS; i++) {
        (void)pthread_join(readers[i].id, NULL);
        if (readers[i].wrong != NULL)
            fail_msg("%s", readers[i].wrong);
        CHECK(readers[i].found >= FOUND);
    }
    CHECK(count_tiers(&w) >= 2);
    id_world_settle(&w);
    id_world_check_all(&w);
    id_world_done(&w);
}

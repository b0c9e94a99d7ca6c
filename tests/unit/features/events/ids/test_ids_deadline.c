/* test_ids_deadline.c - who reads ids in a hurry does not wait for those who do not. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#include "base/clock.h"
#include "db/embedded.h"
#include "unit/features/events/ids/id_world.h"

static sem_t begun, let_go;

/* A reader without a deadline, which holds the index. */
static int dawdle(void *ctx, struct db *db, int64_t number, bool *ret_same, struct error *err)
{
    (void)ctx;
    (void)db;
    (void)number;
    (void)err;
    sem_post(&begun);
    while (sem_wait(&let_go) != 0)
        continue;
    *ret_same = true;
    return 0;
}

static void *find_slowly(void *arg)
{
    struct id_world *w = arg;
    const struct ids_query query = { id_world_hash(w, w->keys[0]), dawdle, NULL };
    struct db *db = temp_db_open(w->url, DB_READER);
    int64_t number = 0;
    int r = ids_find(w->ids, db, &query, &number, NULL);

    db_close(db);
    return r == 0 ? w : NULL;
}

static void *write_one(void *arg)
{
    id_world_begin(arg);
    id_world_add_some(arg, 1);
    id_world_commit(arg);
    return NULL;
}

static enum err_code find_within_deadline(struct id_world *w, struct db *db)
{
    struct id_wanted wanted = { w, 12345, 0, false };
    const struct ids_query query = { id_world_hash(w, wanted.key), id_wanted_same, &wanted };
    struct error err = { 0 };
    int64_t number;

    return ids_find(w->ids, db, &query, &number, &err) == 0 ? ERR_NONE : err.code;
}

TEST(a_hurried_look_does_not_wait_for_the_writer)
{
    struct id_world w;
    pthread_t slow, writer;
    void *found = NULL;
    struct db *db;

    id_world_init(&w, 100, 3);
    write_one(&w);
    sem_init(&begun, 0, 0);
    sem_init(&let_go, 0, 0);
    db = temp_db_open(w.url, DB_READER);
    CHECK(db_set_deadline(db, clock_mono_us() + 60LL * USEC_PER_SEC));
    CHECK_INT(find_within_deadline(&w, db), ERR_NONE);
    CHECK_INT(pthread_create(&slow, NULL, find_slowly, &w), 0);
    while (sem_wait(&begun) != 0)
        continue;
    CHECK_INT(find_within_deadline(&w, db), ERR_NONE); /* beside another reader */
    CHECK_INT(pthread_create(&writer, NULL, write_one, &w), 0);
    while (find_within_deadline(&w, db) != ERR_BUSY) /* until the writer waits */
        (void)sched_yield();
    sem_post(&let_go);
    pthread_join(slow, &found);
    pthread_join(writer, NULL);
    CHECK(found == &w);
    CHECK_INT(find_within_deadline(&w, db), ERR_NONE);
    db_close(db);
    id_world_done(&w);
}

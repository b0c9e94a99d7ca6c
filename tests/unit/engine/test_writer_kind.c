/* test_writer_kind.c - the writer steps back for others only when it has much to do. */
#include <sched.h>
#include <semaphore.h>

#include "engine/txn.h"
#include "engine/writer.h"
#include "unit/temp_db.h"

struct job {
    struct writer_job write;
    sem_t done;
    int policy; /* of the thread that stored it */
};

static int apply(struct writer_job *write, struct txn *txn, struct error *err)
{
    (void)txn;
    (void)err;
    CONTAINER_OF(write, struct job, write)->policy = sched_getscheduler(0);
    return 0;
}

static void done(struct writer_job *write, const struct error *err)
{
    (void)err;
    sem_post(&CONTAINER_OF(write, struct job, write)->done);
}

static int policy_for(struct writer *writer, size_t events)
{
    struct job job = { .write = { .apply = apply, .done = done, .events = events } };

    sem_init(&job.done, 0, 0);
    CHECK_INT(writer_submit(writer, &job.write, NULL), 0);
    while (sem_wait(&job.done) != 0)
        continue;
    return job.policy;
}

/* A machine that others use too lets a steady thread wait: a single event took 11 ms there. */
TEST(only_many_events_at_once_make_it_steady)
{
    static const struct {
        size_t events;
        int policy;
    } rows[] = {
        { 1, SCHED_OTHER },  { 500, SCHED_BATCH }, { 500, SCHED_BATCH },
        { 20, SCHED_OTHER }, { 1, SCHED_OTHER },   { 200, SCHED_BATCH },
    };
    struct db *db = temp_db_open(temp_db_new(), DB_WRITER);
    struct txn txn = { .db = db };
    const struct writer_options options = {
        .txns = &txn,
        .n_txns = 1,
        .limits = { .events_max = 1000, .bytes_max = MIB(1), .group_max = 1000 },
    };
    struct writer *writer = NULL;

    if (sched_getscheduler(0) != SCHED_OTHER) /* then it leaves it alone */
        skip();
    CHECK_INT(writer_new(&options, &writer, NULL), 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        CHECK_INT(policy_for(writer, rows[i].events), rows[i].policy);
    writer_free(writer);
    db_close(db);
}

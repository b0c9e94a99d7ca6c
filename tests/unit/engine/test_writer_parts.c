/* test_writer_parts.c - a server of a distributed database that is away, or hangs, fails the jobs
 * of its own tenants. */
#include <semaphore.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "db/driver.h"
#include "engine/part_read.h"
#include "engine/parts.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "test.h"
#include "unit/fake_db.h"

/* Their hashes are negative and positive (test_parts.c). */
enum { ON_FIRST = 1, ON_SECOND = 2 };

/* A database whose second server fails, in one of two ways. */
struct fake {
    struct db base;
    bool moved; /* the tenant ON_SECOND is on the second server; else all are on the first */
    bool hangs; /* instead of refusing at once */
    bool locks; /* what hangs waits for a lock: the server answers */
    bool wide;  /* a job of several tenants needs the second server too */
    unsigned asked;
    bool pings;         /* the server of the connection answers */
    bool mute;          /* but does not say which server has whom */
    int64_t patient_us; /* how long it was last waited for */
    atomic_bool stuck;  /* commits do not return */
};

struct row {
    struct db_row base;
    int64_t columns[3];
};

static int64_t get_int(const struct db_row *row, unsigned column)
{
    return ((const struct row *)row)->columns[column];
}

static const struct db_row_methods row_methods = { .get_int = get_int };

static int commit(struct db *db, struct error *err)
{
    struct fake *fake = (struct fake *)db;

    db->silent = fake->stuck;
    return fake->stuck ? err_set(err, ERR_UNAVAILABLE, "told to fail") : 0;
}

/* Is the second server well? */
static int ask(struct fake *fake, struct error *err)
{
    fake->asked++;
    if (!fake->hangs || fake->locks)
        return 0;
    fake->base.silent = true;
    return err_set(err, ERR_UNAVAILABLE, "told to fail");
}

/* Which server has whom. */
static int exec(struct db *db, const struct db_query *q, struct db_args args, db_row_fn *on_row,
                void *ctx, struct error *err)
{
    struct fake *fake = (struct fake *)db;
    const struct row rows[] = { { { &row_methods }, { INT32_MIN, -1, 0 } },
                                { { &row_methods }, { 0, INT32_MAX, fake->moved ? 1 : 0 } } };

    (void)args;
    if (strstr(q->sql, "audit_heads") != NULL)
        return ask(fake, err);
    if (fake->mute)
        return err_set(err, ERR_UNAVAILABLE, "told to fail");
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        CHECK(on_row(ctx, &rows[i].base));
    return 0;
}

static int ping(struct db *db, struct error *err)
{
    struct fake *fake = (struct fake *)db;

    if (!fake->pings)
        return err_set(err, ERR_UNAVAILABLE, "told to fail");
    db->silent = false;
    return 0;
}

static void set_patience(struct db *db, int64_t until_us)
{
    if (until_us != 0)
        ((struct fake *)db)->patient_us = until_us - clock_raw_us();
}

static const struct db_driver driver = {
    .dialect = "postgres",
    .begin = fake_begin,
    .commit = commit,
    .rollback = fake_rollback,
    .exec = exec,
    .ping = ping,
    .set_patience = set_patience,
};

struct job {
    struct writer_job write;
    sem_t *waits;   /* for this, when it is applied; or NULL */
    unsigned tries; /* by the writer's thread */
    enum err_code result;
    sem_t ended;
};

static int apply(struct writer_job *write, struct txn *txn, struct error *err)
{
    struct job *job = CONTAINER_OF(write, struct job, write);
    const struct fake *fake = (const struct fake *)txn->db;

    job->tries++;
    if (job->waits != NULL)
        CHECK(sem_wait(job->waits) == 0);
    if (write->tenant_id != ON_SECOND && !(write->tenant_id == 0 && fake->wide))
        return 0;
    txn->db->part_away = !fake->hangs;
    txn->db->silent = fake->hangs;
    return err_set(err, ERR_UNAVAILABLE, "told to fail");
}

static void done(struct writer_job *write, const struct error *err)
{
    struct job *job = CONTAINER_OF(write, struct job, write);

    job->result = err == NULL ? ERR_NONE : err->code;
    CHECK(sem_post(&job->ended) == 0);
}

static void on_fatal(void *ctx, const struct error *err)
{
    (void)ctx;
    (void)err;
}

static void submit_made(struct writer *w, struct job *job)
{
    CHECK(sem_init(&job->ended, 0, 0) == 0);
    CHECK(writer_submit(w, &job->write, NULL) == 0);
}

static void submit(struct writer *w, struct job *job, int64_t tenant_id, sem_t *waits)
{
    *job = (struct job){ .write = { .apply = apply,
                                    .done = done,
                                    .tenant_id = tenant_id,
                                    .events = 1,
                                    .exclusive = waits != NULL },
                         .waits = waits };
    submit_made(w, job);
}

/* Of a caller who asked then, by the raw clock; 0: the service's own. */
static void submit_at(struct writer *w, struct job *job, int64_t tenant_id, int64_t asked_us)
{
    *job = (struct job){ .write = { .apply = apply,
                                    .done = done,
                                    .tenant_id = tenant_id,
                                    .asked_us = asked_us,
                                    .events = 1 } };
    submit_made(w, job);
}

static void await(struct job *job)
{
    CHECK(sem_wait(&job->ended) == 0);
    CHECK(sem_destroy(&job->ended) == 0);
}

static struct writer *start(struct txn *txn)
{
    const struct writer_options options = {
        .txns = txn,
        .n_txns = 1,
        .limits = { .events_max = 99, .bytes_max = 99, .group_max = 99, .wait_max_ms = 5000 },
        .on_fatal = on_fatal
    };
    struct writer *w;

    CHECK(writer_new(&options, &w, NULL) == 0);
    return w;
}

static void look_at_parts(struct writer *w, struct db *db)
{
    struct parts parts;

    CHECK(parts_load(db, &parts, NULL) == 0);
    writer_set_parts(w, &parts);
}

/* One group of both, formed before the second tenant's rows moved, if they did. */
static void run_both(struct fake *fake, bool moved, struct job jobs[2])
{
    struct txn txn = { .db = &fake->base };
    struct writer *w = start(&txn);
    struct job first;
    sem_t gate;

    look_at_parts(w, &fake->base);
    CHECK(sem_init(&gate, 0, 0) == 0);
    submit(w, &first, 0, &gate);
    submit(w, &jobs[0], ON_FIRST, NULL);
    submit(w, &jobs[1], ON_SECOND, NULL);
    fake->moved = moved;
    CHECK(sem_post(&gate) == 0);
    await(&first);
    await(&jobs[0]);
    await(&jobs[1]);
    CHECK(writer_is_healthy(w));
    CHECK(!writer_hangs(w));
    look_at_parts(w, &fake->base);
    CHECK(writer_tenant_is_away(w, ON_SECOND));
    CHECK_INT(writer_tenant_is_away(w, ON_FIRST), !moved);
    writer_free(w);
    CHECK(sem_destroy(&gate) == 0);
}

TEST(a_tenant_that_moved_to_a_server_that_is_away_fails_alone)
{
    struct fake fake = { .base = { .driver = &driver, .distributed = true } };
    struct job jobs[2];

    run_both(&fake, true, jobs);
    CHECK_INT(jobs[0].result, ERR_NONE);
    CHECK_INT(jobs[1].result, ERR_UNAVAILABLE);
}

TEST(all_tenants_of_a_server_that_is_away_fail_at_once)
{
    struct fake fake = { .base = { .driver = &driver, .distributed = true } };
    struct job jobs[2];

    run_both(&fake, false, jobs);
    CHECK_INT(jobs[0].result, ERR_UNAVAILABLE);
    CHECK_INT(jobs[1].result, ERR_UNAVAILABLE);
    CHECK_INT(jobs[0].tries + jobs[1].tries, 2);
}

/* What was silent is found out after the job was answered, and before the next one of its thread.
 */
static void await_finding(struct writer *w, bool pings)
{
    struct job next;

    while (!pings && writer_is_healthy(w))
        CHECK(usleep(1000) == 0);
    if (!pings)
        return;
    submit(w, &next, ON_FIRST, NULL);
    await(&next);
}

TEST(a_server_that_hangs_is_told_from_a_lock_and_from_the_one_of_the_connection)
{
    static const struct {
        bool distributed, pings, locks, hangs;
    } rows[] = { { true, true, false, true },
                 { true, false, false, false },
                 { true, true, true, false },
                 { false, true, false, false } };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fake fake = { .base = { .driver = &driver, .distributed = rows[i].distributed },
                             .moved = true,
                             .hangs = true,
                             .locks = rows[i].locks,
                             .pings = rows[i].pings };
        struct writer_job optional = { .apply = apply, .done = done, .dispensable = true };
        struct txn txn = { .db = &fake.base };
        struct writer *w = start(&txn);
        struct job job;

        if (rows[i].distributed)
            look_at_parts(w, &fake.base);
        submit(w, &job, ON_SECOND, NULL);
        await(&job);
        CHECK_INT(job.result, ERR_UNAVAILABLE);
        if (rows[i].distributed)
            await_finding(w, rows[i].pings);
        CHECK_INT(writer_hangs(w), rows[i].hangs);
        CHECK_INT(writer_tenant_is_away(w, ON_SECOND), rows[i].hangs);
        CHECK_INT(writer_tenant_hangs(w, ON_SECOND), rows[i].hangs);
        CHECK(!writer_tenant_hangs(w, ON_FIRST));
        CHECK(!writer_tenant_is_away(w, ON_FIRST));
        if (rows[i].hangs) {
            struct error err = { 0 };

            CHECK(writer_is_healthy(w));
            CHECK(writer_submit(w, &optional, &err) != 0);
            CHECK_INT(err.code, ERR_UNAVAILABLE);
        } else {
            CHECK_INT(writer_is_healthy(w), rows[i].locks);
        }
        writer_free(w);
    }
}

/* One whose caller has little time left is not heard of the commit either way. */
TEST(a_commit_that_does_not_return_says_so_of_its_server_if_it_had_time)
{
    for (int late = 0; late <= 1; late++) {
        struct fake fake = { .base = { .driver = &driver, .distributed = true },
                             .moved = true,
                             .pings = true,
                             .stuck = true };
        struct txn txn = { .db = &fake.base };
        struct writer *w = start(&txn);
        struct job job, next;

        look_at_parts(w, &fake.base);
        do { /* it is not begun if the machine stood still for half a second */
            submit_at(w, &job, ON_FIRST, late ? clock_raw_us() - 4200 * USEC_PER_MSEC : 0);
            await(&job);
        } while (late && job.result == ERR_BUSY);
        CHECK_INT(job.result, ERR_UNAVAILABLE);
        fake.stuck = false;
        submit(w, &next, 0, NULL); /* after what was found out */
        await(&next);
        CHECK(writer_is_healthy(w));
        CHECK_INT(writer_tenant_is_away(w, ON_FIRST), !late);
        writer_free(w);
    }
}

/* The number 0 has a hash as well: of the first server, which is well. */
TEST(a_job_of_several_tenants_that_hangs_says_nothing_of_a_single_one)
{
    struct fake fake = { .base = { .driver = &driver, .distributed = true },
                         .moved = true,
                         .hangs = true,
                         .pings = true,
                         .wide = true };
    struct txn txn = { .db = &fake.base };
    struct writer *w = start(&txn);
    struct job job;

    look_at_parts(w, &fake.base);
    submit(w, &job, 0, NULL);
    await(&job);
    CHECK_INT(job.result, ERR_UNAVAILABLE);
    while (!writer_hangs(w)) /* another job would say that its server answers */
        CHECK(usleep(1000) == 0);
    CHECK_INT(fake.asked, 1);
    CHECK(!writer_tenant_hangs(w, ON_FIRST) && !writer_tenant_is_away(w, ON_FIRST));
    CHECK(!writer_tenant_hangs(w, ON_SECOND));
    writer_free(w);
}

/* The second tenant's rows have moved there since its job was queued. */
TEST(a_server_is_said_to_hang_only_if_it_has_the_tenant_whose_job_hung)
{
    for (int mute = 0; mute < 2; mute++) {
        struct fake fake = { .base = { .driver = &driver, .distributed = true },
                             .hangs = true,
                             .pings = true };
        struct txn txn = { .db = &fake.base };
        struct writer *w = start(&txn);
        struct job job;
        sem_t gate;

        look_at_parts(w, &fake.base);
        CHECK(sem_init(&gate, 0, 0) == 0);
        submit(w, &job, ON_SECOND, &gate);
        fake.moved = true;
        fake.mute = mute == 1;
        CHECK(sem_post(&gate) == 0);
        await(&job);
        CHECK_INT(job.result, ERR_UNAVAILABLE);
        writer_stop(w); /* its thread has found out by then */
        CHECK_INT(writer_tenant_hangs(w, ON_SECOND), mute == 0);
        CHECK_INT(writer_hangs(w), mute == 0);
        CHECK(!writer_tenant_hangs(w, ON_FIRST));
        writer_free(w);
        CHECK(sem_destroy(&gate) == 0);
    }
}

static struct {
    struct writer *w;
    struct fake fake;
    struct txn txn;
} reads;

/* Of a caller who waits for so many milliseconds; 0: as long as it takes. */
static int begin_read_for(int64_t tenant_id, int64_t ms)
{
    struct part_read_job read = { .writer = reads.w,
                                  .db = &reads.fake.base,
                                  .tenant_id = tenant_id,
                                  .began_us = clock_raw_us(),
                                  .until_us = ms == 0 ? 0 : clock_raw_us() + ms * USEC_PER_MSEC };
    struct error err = { 0 };
    const int r = part_read_begin(&read, &err);

    CHECK(r == 0 || err.code == ERR_UNAVAILABLE);
    return r;
}

static int begin_read(int64_t tenant_id)
{
    return begin_read_for(tenant_id, 0);
}

/* After so many seconds, with this error. */
static void fail_read(int64_t seconds, enum err_code code)
{
    const struct part_read_job read = { .writer = reads.w,
                                        .db = &reads.fake.base,
                                        .tenant_id = ON_SECOND,
                                        .began_us = clock_raw_us() - seconds * USEC_PER_SEC };

    part_read_end(&read, code);
}

static void set_up(void)
{
    reads.fake = (struct fake){ .base = { .driver = &driver, .distributed = true },
                                .moved = true,
                                .hangs = true,
                                .pings = true };
    reads.txn = (struct txn){ .db = &reads.fake.base };
    reads.w = start(&reads.txn);
    look_at_parts(reads.w, &reads.fake.base);
}

TEST(a_read_that_finds_its_server_hung_keeps_others_from_waiting_for_it)
{
    set_up();
    CHECK(begin_read(ON_SECOND) == 0);
    fail_read(5, ERR_INTERNAL);
    fail_read(1, ERR_BUSY);
    CHECK_INT(reads.fake.asked, 0); /* it was answered */
    fail_read(5, ERR_BUSY);
    CHECK_INT(reads.fake.asked, 1);
    CHECK(writer_tenant_hangs(reads.w, ON_SECOND) && writer_tenant_is_away(reads.w, ON_SECOND));
    CHECK(begin_read(ON_SECOND) != 0);
    CHECK(begin_read(ON_FIRST) == 0);
    fail_read(5, ERR_UNAVAILABLE);
    CHECK_INT(reads.fake.asked, 1); /* it is known */
    writer_free(reads.w);
}

TEST(a_slow_read_of_a_server_that_answers_has_no_effect_on_others)
{
    set_up();
    reads.fake.locks = true;
    fail_read(5, ERR_BUSY);
    CHECK_INT(reads.fake.asked, 1);
    CHECK(!writer_tenant_hangs(reads.w, ON_SECOND) && begin_read(ON_SECOND) == 0);
    writer_free(reads.w);
}

TEST(a_read_that_hung_says_so_of_the_server_that_has_its_tenant_now)
{
    set_up();
    reads.fake.moved = false;
    look_at_parts(reads.w, &reads.fake.base);
    reads.fake.moved = true;
    fail_read(5, ERR_BUSY);
    CHECK(writer_tenant_hangs(reads.w, ON_SECOND));
    CHECK(!writer_tenant_hangs(reads.w, ON_FIRST));
    writer_free(reads.w);
}

/* The server of the reader's own connection fails: that says nothing of the tenant's. */
TEST(a_read_that_cannot_find_out_whether_its_server_hangs_leaves_it_to_the_next)
{
    set_up();
    fail_read(5, ERR_BUSY);
    CHECK(begin_read(ON_SECOND) != 0);
    atomic_fetch_add(&clock_raw_shift_us, INT64_C(30) * USEC_PER_SEC);
    reads.fake.pings = false;
    CHECK(begin_read(ON_SECOND) != 0);
    reads.fake.pings = true;
    reads.fake.hangs = false;
    CHECK(!writer_tenant_hangs(reads.w, ON_SECOND));
    CHECK(begin_read(ON_SECOND) == 0 && begin_read(ON_SECOND) == 0);
    CHECK_INT(reads.fake.asked, 2); /* by the first that failed, and the one that found it well */
    writer_free(reads.w);
}

/* With a queue_max_wait_ms of 4 s no read has longer. */
TEST(a_read_finds_out_whether_its_server_is_back_within_its_own_time)
{
    set_up();
    fail_read(5, ERR_BUSY);
    atomic_fetch_add(&clock_raw_shift_us, INT64_C(30) * USEC_PER_SEC);
    reads.fake.hangs = false;
    CHECK(begin_read_for(ON_SECOND, 500) != 0); /* too little */
    CHECK_INT(reads.fake.asked, 1);
    CHECK(begin_read_for(ON_SECOND, 3900) == 0);
    CHECK_INT(reads.fake.asked, 2);
    CHECK(reads.fake.patient_us <= INT64_C(1950) * USEC_PER_MSEC);
    CHECK(begin_read_for(ON_SECOND, 500) == 0); /* it is back */
    writer_free(reads.w);
}

TEST(a_read_whose_tenant_has_moved_leaves_the_server_that_it_tried_to_the_next)
{
    set_up();
    fail_read(5, ERR_BUSY);
    atomic_fetch_add(&clock_raw_shift_us, INT64_C(30) * USEC_PER_SEC);
    reads.fake.moved = false;
    reads.fake.hangs = false;
    CHECK(begin_read(ON_SECOND) == 0); /* it is on the first server now */
    reads.fake.moved = true;
    look_at_parts(reads.w, &reads.fake.base);
    CHECK(begin_read(ON_SECOND) == 0); /* finds out that the second is back */
    CHECK_INT(reads.fake.asked, 3);
    writer_free(reads.w);
}

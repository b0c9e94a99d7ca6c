/* test_writer.c - group commit: told only when durable, told exactly once, whatever fails. */
#include <pthread.h>
#include <stdatomic.h>

#include "engine/txn.h"
#include "engine/writer.h"
#include "hooks/clock_hook.h"
#include "hooks/fault.h"
#include "unit/temp_db.h"

enum { GROUP = 3 };

static const struct db_query insert_mark = {
    .sql = "INSERT INTO marks (id) VALUES ($1)",
};
static const struct db_query count_marks = { .sql = "SELECT COUNT(*) FROM marks" };
static const struct db_query count_mark = {
    .sql = "SELECT COUNT(*) FROM marks WHERE id = $1",
};

/* A writer over a database with one table, and a second connection to see what is durable. */
struct bench {
    struct db *real, *fault, *reader;
    struct txn txn;
    struct writer *writer;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    bool gate_open;
    int n_fatal, n_done;
    enum err_code fatal_code;
};

struct job {
    struct writer_job write;
    struct bench *bench;
    int64_t id;
    bool is_gate;            /* writes nothing; holds the writer until the gate opens */
    int64_t takes_us;        /* passes on the clock while it is applied */
    enum err_code fail_with; /* after it has written */
    int n_applied, n_done;   /* by the writer thread; read after it is done */
    bool seen;               /* its row was there when it was told so */
    enum err_code result;
};

static int apply(struct writer_job *write, struct txn *txn, struct error *err)
{
    struct job *job = CONTAINER_OF(write, struct job, write);
    struct bench *b = job->bench;

    job->n_applied++;
    clock_advance_us(job->takes_us);
    if (job->is_gate) {
        pthread_mutex_lock(&b->lock);
        while (!b->gate_open)
            pthread_cond_wait(&b->changed, &b->lock);
        pthread_mutex_unlock(&b->lock);
        return 0;
    }
    if (db_exec(txn->db, &insert_mark, DB_ARGS(db_int(job->id)), NULL, NULL, err) != 0)
        return -1;
    return job->fail_with == ERR_NONE ? 0 : err_set(err, job->fail_with, "told to fail");
}

static void done(struct writer_job *write, const struct error *err)
{
    struct job *job = CONTAINER_OF(write, struct job, write);
    struct bench *b = job->bench;
    const struct db_args id = DB_ARGS(db_int(job->id));

    if (err == NULL && !job->is_gate)
        job->seen = temp_db_int(b->reader, &count_mark, id) == 1;
    pthread_mutex_lock(&b->lock);
    job->result = err == NULL ? ERR_NONE : err->code;
    job->n_done++;
    b->n_done++;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
}

static void on_fatal(void *ctx, const struct error *err)
{
    struct bench *b = ctx;

    pthread_mutex_lock(&b->lock);
    b->n_fatal++;
    b->fatal_code = err->code;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
}

static const struct writer_limits wide = { .events_max = 100000,
                                           .bytes_max = MIB(64),
                                           .group_max = 1000 };

/* The nth call to the database fails with `code`; nth -1: none does. */
static void bench_init(struct bench *b, int nth, enum err_code code, struct writer_limits limits)
{
    const char *url = temp_db_new();
    struct error err = { 0 };
    struct writer_options options = { .n_txns = 1, .limits = limits, .on_fatal = on_fatal };

    *b = (struct bench){ .real = temp_db_open(url, DB_WRITER) };
    CHECK(db_script(b->real, "CREATE TABLE marks (id INTEGER PRIMARY KEY) STRICT", NULL) == 0);
    b->reader = temp_db_open(url, DB_READER);
    b->fault = db_fault_new(b->real, nth, code);
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
    b->txn.db = b->fault;
    options.txns = &b->txn;
    options.ctx = b;
    if (writer_new(&options, &b->writer, &err) != 0)
        fail_msg("%s", err.text);
}

static void bench_done(struct bench *b)
{
    writer_free(b->writer);
    db_close(b->fault);
    db_close(b->reader);
    db_close(b->real);
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->lock);
}

static int submit(struct bench *b, struct job *job, struct error *err)
{
    job->bench = b;
    job->write.apply = apply;
    job->write.done = done;
    if (job->write.events == 0)
        job->write.events = 1;
    return writer_submit(b->writer, &job->write, err);
}

static void must_submit(struct bench *b, struct job *job)
{
    struct error err = { 0 };

    if (submit(b, job, &err) != 0)
        fail_msg("%s", err.text);
}

static void open_gate(struct bench *b)
{
    pthread_mutex_lock(&b->lock);
    b->gate_open = true;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
}

static void wait_done(struct bench *b, int n)
{
    pthread_mutex_lock(&b->lock);
    while (b->n_done < n)
        pthread_cond_wait(&b->changed, &b->lock);
    pthread_mutex_unlock(&b->lock);
}

/* The writer takes the gate, and what comes next gathers behind it. */
static void hold(struct bench *b, struct job *gate)
{
    gate->is_gate = true;
    gate->write.exclusive = true;
    must_submit(b, gate);
}

/* The gate, then `n` jobs that gather behind it into one group; all told. */
static void run_behind_gate(struct bench *b, struct job *gate, struct job *jobs, size_t n)
{
    hold(b, gate);
    for (size_t i = 0; i < n; i++) {
        struct error err = { 0 };

        jobs[i].id = (int64_t)i + 1;
        if (submit(b, &jobs[i], &err) == 0)
            continue;
        CHECK_INT(err.code, ERR_IO); /* the gate failed before this one came: it hears at once */
        done(&jobs[i].write, &err);
    }
    open_gate(b);
    wait_done(b, (int)n + 1);
}

TEST(a_job_is_told_so_only_when_its_row_is_durable)
{
    struct job jobs[100] = { 0 };
    struct bench b;

    bench_init(&b, -1, ERR_NONE, wide);
    for (size_t i = 0; i < COUNT_OF(jobs); i++) {
        jobs[i].id = (int64_t)i;
        must_submit(&b, &jobs[i]);
    }
    wait_done(&b, COUNT_OF(jobs));
    for (size_t i = 0; i < COUNT_OF(jobs); i++) {
        CHECK_INT(jobs[i].result, ERR_NONE);
        CHECK(jobs[i].seen);
    }
    bench_done(&b);
}

/* Whichever call fails and however, each job hears once, and what it hears is true. */
TEST(every_job_is_told_once_whichever_call_fails)
{
    static const struct {
        enum err_code code;
        int fired, failed_runs; /* of the ten below */
    } rows[] = {
        /* gate: begin, commit; group: begin, three inserts, commit; a split group starts over */
        { ERR_IO, 7, 7 },   /* fatal */
        { ERR_FULL, 7, 7 }, /* general, as the one below */
        { ERR_UNAVAILABLE, 7, 7 },
        { ERR_CONFLICT, 7, 2 }, /* fails again by itself only when it is alone: the gate */
        { ERR_BUSY, 7, 0 },     /* a deadlock: tried again, and no job learns of it */
    };

    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        int fired = 0, failed_runs = 0;

        for (int nth = 0; nth < 10; nth++) {
            struct job gate = { 0 }, jobs[GROUP] = { 0 };
            struct bench b;
            bool failed = false;

            bench_init(&b, nth, rows[row].code, wide);
            run_behind_gate(&b, &gate, jobs, GROUP);
            writer_free(b.writer);
            b.writer = NULL;
            failed = gate.result != ERR_NONE;
            CHECK_INT(gate.n_done, 1);
            for (size_t i = 0; i < GROUP; i++) {
                const struct db_args id = DB_ARGS(db_int(jobs[i].id));

                CHECK_INT(jobs[i].n_done, 1);
                CHECK(jobs[i].seen == (jobs[i].result == ERR_NONE));
                CHECK_INT(temp_db_int(b.reader, &count_mark, id), jobs[i].seen);
                failed = failed || jobs[i].result != ERR_NONE;
            }
            CHECK_INT(b.n_fatal, rows[row].code == ERR_IO && db_fault_fired(b.fault));
            fired += db_fault_fired(b.fault);
            failed_runs += failed;
            bench_done(&b);
        }
        CHECK_INT(fired, rows[row].fired);
        CHECK_INT(failed_runs, rows[row].failed_runs);
    }
}

TEST(after_an_io_error_on_commit_everybody_waiting_and_later_fails)
{
    struct job gate = { 0 }, waiting[GROUP] = { 0 }, later = { .id = 99 };
    struct error err = { 0 };
    struct bench b;

    bench_init(&b, 1, ERR_IO, wide); /* the gate's commit */
    run_behind_gate(&b, &gate, waiting, GROUP);
    CHECK_INT(gate.result, ERR_IO);
    for (size_t i = 0; i < GROUP; i++) {
        CHECK_INT(waiting[i].result, ERR_IO);
        CHECK_INT(waiting[i].n_applied, 0); /* the database was not touched again */
    }
    CHECK(submit(&b, &later, &err) != 0);
    CHECK_INT(err.code, ERR_IO);
    CHECK_INT(later.n_done, 0);
    writer_free(b.writer);
    b.writer = NULL;
    CHECK(db_fault_fired(b.fault));
    CHECK_INT(b.n_fatal, 1);
    CHECK_INT(b.fatal_code, ERR_IO);
    CHECK_INT(temp_db_int(b.reader, &count_marks, DB_NO_ARGS), 0);
    bench_done(&b);
}

TEST(one_bad_job_does_not_sink_the_others)
{
    for (size_t bad = 0; bad < GROUP; bad++) {
        struct job gate = { 0 }, jobs[GROUP] = { 0 };
        struct bench b;

        bench_init(&b, -1, ERR_NONE, wide);
        jobs[bad].fail_with = ERR_CONFLICT;
        run_behind_gate(&b, &gate, jobs, GROUP);
        for (size_t i = 0; i < GROUP; i++)
            CHECK_INT(jobs[i].result, i == bad ? ERR_CONFLICT : ERR_NONE);
        CHECK_INT(temp_db_int(b.reader, &count_marks, DB_NO_ARGS), GROUP - 1);
        bench_done(&b);
    }
}

/* A job of another group is not applied again because of the bad one. */
TEST(a_group_ends_at_group_max_and_before_a_job_that_wants_to_be_alone)
{
    struct job gate = { 0 }, jobs[6] = { 0 };
    struct writer_limits limits = wide;
    struct bench b;

    limits.group_max = 2;
    bench_init(&b, -1, ERR_NONE, limits);
    jobs[3].fail_with = ERR_CONFLICT; /* groups: 0 1, 2 3, 4, 5 */
    jobs[4].write.exclusive = true;
    jobs[4].fail_with = ERR_CONFLICT;
    run_behind_gate(&b, &gate, jobs, COUNT_OF(jobs));
    for (size_t i = 0; i < COUNT_OF(jobs); i++) {
        CHECK_INT(jobs[i].n_applied, i == 2 || i == 3 ? 2 : 1);
        CHECK_INT(jobs[i].result, i == 3 || i == 4 ? ERR_CONFLICT : ERR_NONE);
    }
    bench_done(&b);
}

TEST(a_full_queue_refuses_and_says_busy)
{
    static const struct {
        size_t events, bytes; /* of the one too many */
    } rows[] = { { 1, 0 }, { 0, 1 } };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct writer_limits limits = { .events_max = 10, .bytes_max = 1000, .group_max = 100 };
        struct job gate = { 0 }, huge = { .id = 1 }, small = { .id = 2 }, over = { .id = 3 };
        struct error err = { 0 };
        struct bench b;

        bench_init(&b, -1, ERR_NONE, limits);
        hold(&b, &gate);
        huge.write.events = rows[i].events == 1 ? 10 : 9;
        huge.write.bytes = rows[i].events == 1 ? 0 : 1000;
        over.write.events = 1;
        over.write.bytes = rows[i].bytes;
        while (submit(&b, &huge, &err) != 0) /* until the gate is taken from the queue */
            CHECK_INT(err.code, ERR_BUSY);
        err = (struct error){ 0 };
        CHECK(submit(&b, &over, &err) != 0);
        CHECK_INT(err.code, ERR_BUSY);
        open_gate(&b);
        wait_done(&b, 2);
        must_submit(&b, &small);
        wait_done(&b, 3);
        CHECK_INT(over.n_done, 0);
        CHECK_INT(temp_db_int(b.reader, &count_marks, DB_NO_ARGS), 2);
        bench_done(&b);
    }
}

/* 1,000 events took 10 s, so 600 wait 6 s; but a slow commit of few events says nothing. */
TEST(what_would_wait_too_long_is_refused_by_the_pace_of_large_commits)
{
    static const struct {
        size_t events; /* of the commit that took 10 s */
        bool refused;  /* a job behind 600 events that wait already */
    } rows[] = { { 1000, true }, { 10, false } };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct writer_limits limits = wide;
        struct job slow = { .id = 1, .takes_us = 10000000 }, gate = { 0 };
        struct job waiting = { .id = 2 }, over = { .id = 3 };
        struct job_cost cost = JOB_COST(20);
        struct error err = { 0 };
        struct bench b;

        limits.wait_max_ms = 5000;
        bench_init(&b, -1, ERR_NONE, limits);
        slow.write.cost = waiting.write.cost = over.write.cost = &cost;
        slow.write.events = rows[i].events;
        must_submit(&b, &slow);
        wait_done(&b, 1);
        hold(&b, &gate);
        waiting.write.events = 600;
        must_submit(&b, &waiting);
        CHECK_INT(submit(&b, &over, &err) != 0, rows[i].refused);
        CHECK_INT(err.code, rows[i].refused ? ERR_BUSY : ERR_NONE);
        open_gate(&b);
        wait_done(&b, rows[i].refused ? 3 : 4);
        bench_done(&b);
    }
}

enum { SENDERS = 8, EACH = 200 };

struct sender {
    struct bench *bench;
    struct job jobs[EACH];
    int64_t first;
};

static void *send_all(void *arg)
{
    struct sender *s = arg;

    for (size_t i = 0; i < EACH; i++) {
        s->jobs[i].id = s->first + (int64_t)i;
        must_submit(s->bench, &s->jobs[i]);
    }
    return NULL;
}

TEST(many_threads_may_submit_at_once)
{
    static struct sender senders[SENDERS];
    pthread_t threads[SENDERS];
    struct bench b;

    bench_init(&b, -1, ERR_NONE, wide);
    for (size_t i = 0; i < SENDERS; i++) {
        senders[i].bench = &b;
        senders[i].first = (int64_t)i * EACH;
        CHECK(pthread_create(&threads[i], NULL, send_all, &senders[i]) == 0);
    }
    for (size_t i = 0; i < SENDERS; i++)
        pthread_join(threads[i], NULL);
    wait_done(&b, SENDERS * EACH);
    for (size_t i = 0; i < SENDERS; i++)
        for (size_t j = 0; j < EACH; j++) {
            CHECK_INT(senders[i].jobs[j].result, ERR_NONE);
            CHECK_INT(senders[i].jobs[j].n_done, 1);
            CHECK(senders[i].jobs[j].seen);
        }
    bench_done(&b);
}

static int n_done(struct bench *b)
{
    int n;

    pthread_mutex_lock(&b->lock);
    n = b->n_done;
    pthread_mutex_unlock(&b->lock);
    return n;
}

TEST(a_pause_keeps_jobs_waiting_until_it_ends)
{
    static const struct timespec moment = { .tv_nsec = 50 * 1000 * 1000 };
    struct job jobs[3] = { { .id = 1 }, { .id = 2 }, { .id = 3 } };
    struct bench b;

    bench_init(&b, -1, ERR_NONE, wide);
    writer_pause(b.writer, 3600 * 1000);
    must_submit(&b, &jobs[0]);
    (void)nanosleep(&moment, NULL);
    CHECK_INT(n_done(&b), 0);
    writer_pause(b.writer, 0);
    wait_done(&b, 1);
    CHECK(jobs[0].seen);
    writer_pause(b.writer, 1); /* ends by itself */
    must_submit(&b, &jobs[1]);
    wait_done(&b, 2);
    writer_pause(b.writer, 3600 * 1000);
    must_submit(&b, &jobs[2]);
    bench_done(&b); /* a writer that stops does not wait */
    CHECK_INT(b.n_done, 3);
}

TEST(the_time_of_a_job_may_end_during_a_pause)
{
    static const struct timespec moment = { .tv_nsec = 50 * 1000 * 1000 };
    struct writer_limits limits = wide;
    struct job late = { .id = 1 }, own = { .id = 2 };
    struct bench b;

    limits.wait_max_ms = 5000;
    bench_init(&b, -1, ERR_NONE, limits);
    writer_pause(b.writer, 3600 * 1000);
    late.write.asked_us = clock_raw_us() - INT64_C(6) * USEC_PER_SEC;
    must_submit(&b, &late);
    must_submit(&b, &own);
    (void)nanosleep(&moment, NULL); /* it could have taken them */
    wait_done(&b, 1);
    CHECK_INT(late.result, ERR_BUSY);
    writer_pause(b.writer, 0);
    wait_done(&b, 2);
    CHECK_INT(own.result, ERR_NONE);
    bench_done(&b);
}

/* The watcher calls it: a writer that waits for a disk tells nobody. */
TEST(the_time_of_a_job_may_end_while_the_writer_is_busy)
{
    struct writer_limits limits = wide;
    struct job gate = { 0 }, late = { .id = 1 };
    struct bench b;

    limits.wait_max_ms = 5000;
    bench_init(&b, -1, ERR_NONE, limits);
    hold(&b, &gate);
    late.write.asked_us = clock_raw_us() - INT64_C(6) * USEC_PER_SEC;
    must_submit(&b, &late);
    writer_expire(b.writer);
    wait_done(&b, 1);
    CHECK_INT(late.result, ERR_BUSY);
    open_gate(&b);
    bench_done(&b);
}

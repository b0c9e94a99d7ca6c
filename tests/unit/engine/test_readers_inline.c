/* test_readers_inline.c - a short read needs no other thread, and takes nothing from anybody. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>

#include "base/metrics.h"
#include "engine/readers.h"
#include "hooks/clock_hook.h"
#include "hooks/fault.h"
#include "unit/patience.h"
#include "unit/temp_db.h"
#include "unit/tenants.h"

enum { CONNECTIONS_MAX = 3, QUEUE = 8 };
enum { BLOCKED_US = 6000, INLINE_PAUSE_US = 1000000 };

static const struct db_query one = { .sql = "SELECT 1" };

/* A question, and what became of it. */
struct asked {
    struct reader_job job;
    int (*work)(struct asked *a, struct db *db, struct error *err);
    sem_t begun, let_go, ended;
    pthread_t ran_on, done_on;
    struct db *db;
    int runs, dones;
    enum err_code told;
};

static struct db *writer, *dbs[CONNECTIONS_MAX];
static size_t n_dbs;
static struct readers *readers;

static int run(struct reader_job *job, struct db *db, struct error *err)
{
    struct asked *a = CONTAINER_OF(job, struct asked, job);

    a->runs++;
    a->ran_on = pthread_self();
    a->db = db;
    return a->work(a, db, err);
}

static void done(struct reader_job *job, const struct error *err)
{
    struct asked *a = CONTAINER_OF(job, struct asked, job);

    a->dones++;
    a->done_on = pthread_self();
    a->told = err == NULL ? ERR_NONE : err->code;
    sem_post(&a->ended);
}

/* Without a look at the clock. */
static int nod(struct asked *a, struct db *db, struct error *err)
{
    (void)a;
    (void)db;
    (void)err;
    return 0;
}

static int look(struct asked *a, struct db *db, struct error *err)
{
    (void)a;
    return db_exec(db, &one, DB_NO_ARGS, NULL, NULL, err);
}

static int wait_to_go(struct asked *a, struct db *db, struct error *err)
{
    (void)db;
    (void)err;
    sem_post(&a->begun);
    return wait_for(&a->let_go) ? 0 : -1;
}

static void ask(struct asked *a, int64_t tenant_id,
                int (*work)(struct asked *a, struct db *db, struct error *err))
{
    *a = (struct asked){ .job = { .budget = tenant_budget(tenant_id), .run = run, .done = done },
                         .work = work };
    sem_init(&a->begun, 0, 0);
    sem_init(&a->let_go, 0, 0);
    sem_init(&a->ended, 0, 0);
}

static bool run_inline(struct asked *a)
{
    return readers_run_inline(readers, &a->job);
}

static bool submit(struct asked *a)
{
    return readers_submit(readers, &a->job, NULL) == 0;
}

/* Is a read of this tenant answered at once? */
static bool runs_inline(int64_t tenant_id)
{
    struct asked a;

    ask(&a, tenant_id, nod);
    if (run_inline(&a)) {
        CHECK_INT(a.dones, 1);
        return true;
    }
    CHECK_INT(a.runs + a.dones, 0);
    return false;
}

static void open_dbs(size_t n)
{
    const char *url = temp_db_new();

    writer = temp_db_open(url, DB_WRITER);
    for (n_dbs = 0; n_dbs < n; n_dbs++)
        dbs[n_dbs] = temp_db_open(url, DB_READER);
}

static void start(void)
{
    CHECK_INT(readers_new(dbs, n_dbs, QUEUE, 0, &readers, NULL), 0);
}

static void begin(size_t n)
{
    open_dbs(n);
    start();
}

static void close_dbs(void)
{
    for (size_t i = 0; i < n_dbs; i++)
        db_close(dbs[i]);
    db_close(writer);
}

static void end(void)
{
    readers_free(readers);
    close_dbs();
}

/* A thread that runs something itself, as a loop would. */
static void *call(void *arg)
{
    return run_inline(arg) ? arg : NULL;
}

static pthread_t begin_call(struct asked *a, int64_t tenant_id)
{
    pthread_t thread;

    ask(a, tenant_id, wait_to_go);
    CHECK_INT(pthread_create(&thread, NULL, call, a), 0);
    CHECK(wait_for(&a->begun));
    return thread;
}

static void end_call(struct asked *a, pthread_t thread)
{
    void *ran = NULL;

    sem_post(&a->let_go);
    CHECK_INT(pthread_join(thread, &ran), 0);
    CHECK(ran == a && a->dones == 1);
    clock_advance_raw_us(INLINE_PAUSE_US); /* it may have waited long enough to count as held up */
}

TEST(a_read_runs_on_the_thread_that_asks)
{
    const uint64_t before = metric_sum(METRIC_READS_HERE);
    struct asked a;

    begin(2);
    ask(&a, 1, nod);
    CHECK(run_inline(&a));
    CHECK(pthread_equal(a.ran_on, pthread_self()) && pthread_equal(a.done_on, pthread_self()));
    CHECK_INT(a.runs, 1);
    CHECK_INT(a.dones, 1);
    CHECK_INT(a.told, ERR_NONE);
    CHECK_INT(metric_sum(METRIC_READS_HERE) - before, 1);
    end();
}

static int look_slowly(struct asked *a, struct db *db, struct error *err)
{
    clock_advance_raw_us(USEC_PER_SEC);
    return look(a, db, err);
}

TEST(a_read_that_runs_out_of_time_is_left_to_the_readers)
{
    const uint64_t before = metric_sum(METRIC_READS_PASSED_ON);
    struct asked a;

    begin(1);
    ask(&a, 1, look_slowly);
    CHECK(!run_inline(&a));
    CHECK_INT(a.runs, 1);
    CHECK_INT(a.dones, 0);
    CHECK_INT(metric_sum(METRIC_READS_PASSED_ON) - before, 1);
    CHECK(submit(&a));
    CHECK(wait_for(&a.ended));
    CHECK(!pthread_equal(a.ran_on, pthread_self()));
    CHECK_INT(a.runs, 2);
    CHECK_INT(a.dones, 1);
    CHECK_INT(a.told, ERR_NONE); /* the connection is in a hurry no more */
    end();
}

static int lose_the_core(struct asked *a, struct db *db, struct error *err)
{
    (void)a;
    (void)db;
    (void)err;
    clock_advance_raw_us(BLOCKED_US);
    return 0;
}

static long count_sleeps(void)
{
    struct rusage usage = { 0 };

    (void)getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

/* As a disk would let it. On a busy machine the time may be over before the thread sleeps. */
static int sleep_long(struct asked *a, struct db *db, struct error *err)
{
    const long before = count_sleeps();

    while (count_sleeps() == before)
        (void)nanosleep(&(struct timespec){ .tv_nsec = 1000 }, NULL);
    return lose_the_core(a, db, err);
}

/* Not for a read that only had to wait for its core: that is no reason to go over another thread.
 */
TEST(after_a_read_that_slept_readers_do_all_for_a_while)
{
    struct asked a;

    begin(2);
    (void)lose_the_core(NULL, NULL, NULL); /* its pages are there: it need not sleep for them */
    ask(&a, 1, lose_the_core);
    CHECK(run_inline(&a));
    CHECK(runs_inline(1));
    ask(&a, 1, sleep_long);
    CHECK(run_inline(&a)); /* it has come to its end all the same */
    CHECK(!runs_inline(1));
    clock_advance_raw_us(INLINE_PAUSE_US / 2);
    CHECK(!runs_inline(1));
    clock_advance_raw_us(INLINE_PAUSE_US);
    CHECK(runs_inline(1));
    end();
}

TEST(a_lost_connection_is_left_to_the_readers)
{
    struct db *real;
    struct asked a;

    open_dbs(1);
    real = dbs[0];
    dbs[0] = db_fault_new(real, 0, ERR_UNAVAILABLE);
    start();
    ask(&a, 1, look);
    CHECK(!run_inline(&a));
    CHECK(db_fault_fired(dbs[0]));
    CHECK_INT(a.dones, 0);
    CHECK(submit(&a));
    CHECK(wait_for(&a.ended));
    CHECK_INT(a.told, ERR_NONE);
    end();
    db_close(real);
}

TEST(what_is_queued_goes_first)
{
    struct asked busy[2];

    begin(2);
    for (size_t i = 0; i < 2;
         i++) { /* the second waits, since the other connection is not for it */
        ask(&busy[i], 1, wait_to_go);
        CHECK(submit(&busy[i]));
    }
    CHECK(wait_for(&busy[0].begun));
    CHECK(!runs_inline(2));
    CHECK(!runs_inline(0));
    for (size_t i = 0; i < 2; i++) {
        sem_post(&busy[i].let_go);
        CHECK(wait_for(&busy[i].ended));
    }
    end();
}

TEST(no_tenant_takes_the_last_connection_here_either)
{
    struct asked busy;

    begin(2);
    ask(&busy, 1, wait_to_go);
    CHECK(submit(&busy));
    CHECK(wait_for(&busy.begun));
    CHECK(!runs_inline(1));
    CHECK(runs_inline(2));
    CHECK(runs_inline(0));
    sem_post(&busy.let_go);
    CHECK(wait_for(&busy.ended));
    end();
}

/* The wait of a thread ends with the share of the tenant that was taken here. */
TEST(what_is_run_here_counts_for_the_share_of_its_tenant)
{
    struct asked here, same, other;
    pthread_t caller;

    begin(2);
    caller = begin_call(&here, 1);
    ask(&same, 1, nod);
    CHECK(submit(&same));
    ask(&other, 2, nod);
    CHECK(submit(&other));
    CHECK(wait_for(&other.ended));
    CHECK(sem_trywait(&same.ended) != 0);
    end_call(&here, caller);
    CHECK(wait_for(&same.ended));
    end();
}

/* The end, on a thread of its own. */
static void *stop(void *arg)
{
    readers_free(readers);
    atomic_store((atomic_bool *)arg, true);
    return NULL;
}

/* Returns when they are stopping. */
static pthread_t begin_stop(atomic_bool *ret_stopped)
{
    struct error err = { 0 };
    pthread_t thread;
    struct asked a;

    atomic_init(ret_stopped, false);
    CHECK_INT(pthread_create(&thread, NULL, stop, ret_stopped), 0);
    while (strstr(err.text, "stopping") == NULL) {
        ask(&a, 0, nod);
        if (readers_submit(readers, &a.job, &err) == 0)
            CHECK(wait_for(&a.ended));
    }
    return thread;
}

/* A thread that does not wait as it should has most likely continued by then. */
static void let_others_run(void)
{
    for (int i = 0; i < 1000; i++)
        (void)sched_yield();
}

TEST(the_end_waits_for_who_runs_something_here)
{
    atomic_bool stopped;
    struct asked here;
    pthread_t caller, stopper;

    begin(2);
    caller = begin_call(&here, 1);
    stopper = begin_stop(&stopped);
    let_others_run();
    CHECK(!atomic_load(&stopped));
    end_call(&here, caller);
    CHECK_INT(pthread_join(stopper, NULL), 0);
    close_dbs();
}

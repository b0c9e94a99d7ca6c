/* test_writer_sync.c - a group is applied while the one before it is synced, and told after it. */
#include <pthread.h>
#include <stdatomic.h>

#include "db/driver.h"
#include "db/embedded.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "unit/temp_db.h"

static const struct db_query insert_mark = { .sql = "INSERT INTO marks (id) VALUES ($1)" };

/* A connection whose sync waits until the test lets it. */
struct slow_db {
    struct db *db;
    struct db_driver driver;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    int n_commits, n_syncs; /* so far */
    int durable;            /* commits that a finished sync covers */
    int allowed;            /* syncs that may finish */
    int failing;            /* this one fails; 0: none */
};

static const struct db_driver *real;

struct job {
    struct writer_job write;
    struct slow_db *db;
    int64_t id;
    bool committed;
    int n_done;
    int durable_when_told;
    enum err_code result;
};

static struct slow_db *slow; /* that of the test under way */

static int slow_commit(struct db *db, struct error *err)
{
    struct slow_db *s = slow;
    int r = real->commit(db, err);

    pthread_mutex_lock(&s->lock);
    s->n_commits += r == 0;
    pthread_mutex_unlock(&s->lock);
    return r;
}

static int slow_sync(struct db *db, struct error *err)
{
    struct slow_db *s = slow;
    int covered, r;

    pthread_mutex_lock(&s->lock);
    covered = s->n_commits;
    s->n_syncs++;
    pthread_cond_broadcast(&s->changed);
    while (s->n_syncs > s->allowed)
        pthread_cond_wait(&s->changed, &s->lock);
    r = s->n_syncs == s->failing ? err_set(err, ERR_IO, "told to fail") : real->sync(db, err);
    if (r == 0)
        s->durable = covered;
    pthread_mutex_unlock(&s->lock);
    return r;
}

static void slow_init(struct slow_db *s)
{
    *s = (struct slow_db){ .db = temp_db_open(temp_db_new(), DB_WRITER) };
    CHECK(db_script(s->db, "CREATE TABLE marks (id INTEGER PRIMARY KEY) STRICT", NULL) == 0);
    slow = s;
    real = s->db->driver;
    s->driver = *real;
    s->driver.commit = slow_commit;
    s->driver.sync = slow_sync;
    s->db->driver = &s->driver;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
}

static void slow_done(struct slow_db *s)
{
    db_close(s->db);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
}

static void allow(struct slow_db *s, int n)
{
    pthread_mutex_lock(&s->lock);
    s->allowed = n;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static void await_syncs(struct slow_db *s, int n)
{
    pthread_mutex_lock(&s->lock);
    while (s->n_syncs < n)
        pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

static int apply(struct writer_job *write, struct txn *txn, struct error *err)
{
    const struct job *job = CONTAINER_OF(write, struct job, write);

    return db_exec(txn->db, &insert_mark, DB_ARGS(db_int(job->id)), NULL, NULL, err);
}

static void committed(struct writer_job *write)
{
    struct job *job = CONTAINER_OF(write, struct job, write);

    pthread_mutex_lock(&job->db->lock);
    job->committed = true;
    pthread_cond_broadcast(&job->db->changed);
    pthread_mutex_unlock(&job->db->lock);
}

static void done(struct writer_job *write, const struct error *err)
{
    struct job *job = CONTAINER_OF(write, struct job, write);

    pthread_mutex_lock(&job->db->lock);
    job->durable_when_told = job->db->durable;
    job->result = err == NULL ? ERR_NONE : err->code;
    job->n_done++;
    pthread_cond_broadcast(&job->db->changed);
    pthread_mutex_unlock(&job->db->lock);
}

static void await_job(struct job *job)
{
    pthread_mutex_lock(&job->db->lock);
    while (job->n_done == 0)
        pthread_cond_wait(&job->db->changed, &job->db->lock);
    pthread_mutex_unlock(&job->db->lock);
}

/* It is in the log now; whether it was told so. */
static bool is_told_when_committed(struct job *job)
{
    bool told;

    pthread_mutex_lock(&job->db->lock);
    while (!job->committed)
        pthread_cond_wait(&job->db->changed, &job->db->lock);
    told = job->n_done > 0;
    pthread_mutex_unlock(&job->db->lock);
    return told;
}

static int submit(struct writer *w, struct slow_db *db, struct job *job, int64_t id)
{
    job->db = db;
    job->id = id;
    job->write =
        (struct writer_job){ .apply = apply, .committed = committed, .done = done, .events = 1 };
    return writer_submit(w, &job->write, NULL);
}

static atomic_int n_fatal;

static void on_fatal(void *ctx, const struct error *err)
{
    (void)ctx;
    CHECK_INT(err->code, ERR_IO);
    atomic_fetch_add(&n_fatal, 1);
}

static struct writer *start(struct slow_db *s, struct txn *txn)
{
    const struct writer_options options = {
        .txns = txn,
        .n_txns = 1,
        .limits = { .events_max = 100000, .bytes_max = MIB(64), .group_max = 1000 },
        .on_fatal = on_fatal,
    };
    struct writer *w = NULL;

    slow_init(s);
    *txn = (struct txn){ .db = s->db };
    atomic_store(&n_fatal, 0);
    CHECK(writer_new(&options, &w, NULL) == 0);
    return w;
}

static void end(struct slow_db *s, struct writer *w)
{
    writer_free(w);
    slow_done(s);
}

/* One after the other, so that each is a group of its own. The first sync is the first one ever, so
 * nothing is known of how long one takes, and the writer takes the second group at once. */
TEST(the_next_group_is_applied_while_the_one_before_it_is_synced)
{
    struct job first = { 0 }, second = { 0 };
    struct slow_db s;
    struct txn txn;
    struct writer *w = start(&s, &txn);

    CHECK(submit(w, &s, &first, 1) == 0);
    await_syncs(&s, 1);
    CHECK(submit(w, &s, &second, 2) == 0);
    CHECK(!is_told_when_committed(&second));
    CHECK(!is_told_when_committed(&first));
    allow(&s, 1);
    await_job(&first);
    CHECK_INT(first.durable_when_told, 1);
    await_syncs(&s, 2);
    CHECK(!is_told_when_committed(&second)); /* the sync before its commit does not count */
    allow(&s, 2);
    await_job(&second);
    CHECK_INT(second.durable_when_told, 2);
    CHECK_INT(second.result, ERR_NONE);
    end(&s, w);
}

TEST(a_third_group_waits_until_a_sync_has_ended)
{
    struct job jobs[3] = { 0 };
    struct slow_db s;
    struct txn txn;
    struct writer *w = start(&s, &txn);

    CHECK(submit(w, &s, &jobs[0], 1) == 0);
    await_syncs(&s, 1);
    CHECK(submit(w, &s, &jobs[1], 2) == 0);
    CHECK(!is_told_when_committed(&jobs[1]));
    CHECK(submit(w, &s, &jobs[2], 3) == 0);
    allow(&s, 1);
    await_job(&jobs[0]);
    await_syncs(&s, 2);
    allow(&s, 3);
    for (size_t i = 0; i < COUNT_OF(jobs); i++) {
        await_job(&jobs[i]);
        CHECK_INT(jobs[i].result, ERR_NONE);
        CHECK(jobs[i].durable_when_told > (int)i);
    }
    end(&s, w);
}

TEST(a_failed_sync_fails_its_jobs_and_all_later_ones)
{
    struct job first = { 0 }, second = { 0 }, later = { 0 };
    struct slow_db s;
    struct txn txn;
    struct writer *w = start(&s, &txn);

    s.failing = 1;
    CHECK(submit(w, &s, &first, 1) == 0);
    await_syncs(&s, 1);
    CHECK(submit(w, &s, &second, 2) == 0);
    CHECK(!is_told_when_committed(&second));
    allow(&s, 100); /* a second sync would succeed, but says nothing */
    await_job(&first);
    await_job(&second);
    CHECK_INT(first.result, ERR_IO);
    CHECK_INT(second.result, ERR_IO);
    writer_stop(w);
    CHECK_INT(atomic_load(&n_fatal), 1);
    CHECK(submit(w, &s, &later, 3) != 0);
    CHECK_INT(s.n_syncs, 1);
    end(&s, w);
}

TEST(a_stop_syncs_what_is_committed)
{
    struct job jobs[200] = { 0 };
    struct slow_db s;
    struct txn txn;
    struct writer *w = start(&s, &txn);

    allow(&s, 1000);
    for (size_t i = 0; i < COUNT_OF(jobs); i++)
        CHECK(submit(w, &s, &jobs[i], (int64_t)i) == 0);
    writer_stop(w);
    for (size_t i = 0; i < COUNT_OF(jobs); i++) {
        CHECK_INT(jobs[i].n_done, 1);
        CHECK_INT(jobs[i].result, ERR_NONE);
        CHECK(jobs[i].durable_when_told > 0);
    }
    CHECK_INT(s.durable, s.n_commits);
    end(&s, w);
}

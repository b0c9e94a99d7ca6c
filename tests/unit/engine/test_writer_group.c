/* test_writer_group.c - what the jobs of one transaction share hears of its end before they do. */
#include "engine/txn.h"
#include "engine/writer.h"
#include "hooks/fault.h"
#include "unit/temp_db.h"

static void on_fatal(void *ctx, const struct error *err)
{
    (void)ctx;
    (void)err;
}

/* What happened to a group, as letters: a(pply), p(repare), c(ommitted), r(olled back), d(one). */
struct story {
    struct txn txn;
    char text[64];
    size_t n;
    enum err_code prepare_with;
};

struct job {
    struct writer_job write;
    enum err_code result; /* by the writer thread; read when it has ended */
    bool done;
};

static void tell(struct txn *txn, char letter)
{
    struct story *s = CONTAINER_OF(txn, struct story, txn);

    s->text[s->n++] = letter;
}

static int apply(struct writer_job *write, struct txn *txn, struct error *err)
{
    (void)write;
    (void)err;
    tell(txn, 'a');
    return 0;
}

static void done(struct writer_job *write, const struct error *err)
{
    struct job *job = CONTAINER_OF(write, struct job, write);

    tell(write->txn, 'd');
    job->result = err == NULL ? ERR_NONE : err->code;
    job->done = true;
}

static int announced(struct txn *txn, struct error *err)
{
    (void)err;
    tell(txn, 'n');
    return 0;
}

static int prepare(struct txn *txn, struct error *err)
{
    const struct story *s = CONTAINER_OF(txn, struct story, txn);

    tell(txn, 'p');
    return s->prepare_with == ERR_NONE ? 0 : err_set(err, s->prepare_with, "told to fail");
}

static void committed(struct txn *txn)
{
    tell(txn, 'c');
}

static void rolled_back(struct txn *txn)
{
    tell(txn, 'r');
}

static const struct writer_hooks hooks = {
    .announced = announced, .prepare = prepare, .committed = committed, .rolled_back = rolled_back
};

TEST(what_a_group_shares_is_prepared_and_told_before_anybody_is)
{
    static const struct {
        int nth; /* call that fails: 0 begin, 1 commit */
        enum err_code code, prepare_with;
        const char *story;
    } rows[] = {
        { -1, ERR_NONE, ERR_NONE, "napcd" }, { 1, ERR_FULL, ERR_NONE, "naprd" },
        { -1, ERR_NONE, ERR_FULL, "naprd" }, { -1, ERR_NONE, ERR_CONFLICT, "naprd" },
        { 0, ERR_FULL, ERR_NONE, "d" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct db *real = temp_db_open(temp_db_new(), DB_WRITER);
        struct db *fault = db_fault_new(real, rows[i].nth, rows[i].code);
        struct story story = { .txn = { .db = fault }, .prepare_with = rows[i].prepare_with };
        struct job job = { .write = { .apply = apply, .done = done } };
        const struct writer_options options = {
            .txns = &story.txn,
            .n_txns = 1,
            .hooks = &hooks,
            .limits = { .events_max = 9, .bytes_max = 9, .group_max = 9 },
            .on_fatal = on_fatal
        };
        struct writer *writer;

        job.write.txn = &story.txn;
        CHECK(writer_new(&options, &writer, NULL) == 0);
        CHECK(writer_submit(writer, &job.write, NULL) == 0);
        writer_free(writer);
        CHECK(job.done);
        CHECK_STR(str_of(story.text), rows[i].story);
        CHECK_INT(job.result != ERR_NONE, strchr(rows[i].story, 'c') == NULL);
        db_close(fault);
        db_close(real);
    }
}

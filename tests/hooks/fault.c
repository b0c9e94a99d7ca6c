/* fault.c - counts the fallible calls and fails one of them instead of making it. */
#include "hooks/fault.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "db/driver.h"

struct fault {
    struct db base;
    struct db_driver driver; /* ours, under the real one's dialect */
    struct db *real;
    int remaining; /* calls before the one that fails */
    size_t rows;   /* that it gives nevertheless */
    enum err_code code;
    bool fired;
    bool kills; /* instead of failing */
};

static struct fault *fault_of(struct db *db)
{
    return (struct fault *)db;
}

/* Counts a call; -1 when it is the one to fail. */
static int count(struct fault *f, const char *what, struct error *err)
{
    if (f->remaining-- != 0)
        return 0;
    if (f->kills)
        _exit(FAULT_KILLED);
    f->fired = true;
    f->base.contended = f->code == ERR_BUSY;
    return err_set(err, f->code, "injected fault in %s: %s", what, err_text(f->code));
}

static void fault_close(struct db *db)
{
    free(fault_of(db));
}

static int fault_begin(struct db *db, struct error *err)
{
    struct fault *f = fault_of(db);

    return count(f, "begin", err) != 0 ? -1 : db_begin(f->real, err);
}

static int fault_commit(struct db *db, struct error *err)
{
    struct fault *f = fault_of(db);

    return count(f, "commit", err) != 0 ? -1 : db_commit(f->real, err);
}

static void fault_rollback(struct db *db)
{
    db_rollback(fault_of(db)->real);
}

/* Whoever takes the rows of a statement that is going to fail. */
struct few {
    db_row_fn *on_row;
    void *ctx;
    size_t left;
};

static bool take_few(void *ctx, const struct db_row *row)
{
    struct few *few = ctx;

    if (few->left == 0)
        return false;
    few->left--;
    return few->on_row(few->ctx, row) && few->left > 0;
}

static int fault_exec(struct db *db, const struct db_query *q, struct db_args args,
                      db_row_fn *on_row, void *ctx, struct error *err)
{
    struct fault *f = fault_of(db);
    struct few few = { on_row, ctx, f->rows };

    if (count(f, "exec", err) == 0) {
        int r = db_exec(f->real, q, args, on_row, ctx, err);

        db->changes = db_changes(f->real);
        return r;
    }
    if (f->rows > 0 && on_row != NULL && db_exec(f->real, q, args, take_few, &few, NULL) != 0)
        f->rows = 0; /* it fails anyway */
    return -1;
}

static int fault_script(struct db *db, const char *sql, struct error *err)
{
    struct fault *f = fault_of(db);

    return count(f, "script", err) != 0 ? -1 : db_script(f->real, sql, err);
}

struct db *db_fault_new(struct db *real, int nth, enum err_code code)
{
    struct fault *f = NEW(struct fault);

    assert(real != NULL);
    f->driver = (struct db_driver){
        .dialect = db_dialect(real),
        .close = fault_close,
        .begin = fault_begin,
        .commit = fault_commit,
        .rollback = fault_rollback,
        .exec = fault_exec,
        .script = fault_script,
    };
    f->base.driver = &f->driver;
    f->base.file = real->file;
    f->real = real;
    f->remaining = nth;
    f->code = code;
    return &f->base;
}

struct db *db_fault_new_killed(struct db *real, int nth)
{
    struct db *db = db_fault_new(real, nth, ERR_UNAVAILABLE);

    fault_of(db)->kills = true;
    return db;
}

struct db *db_fault_new_after_rows(struct db *real, int nth, size_t rows, enum err_code code)
{
    struct db *db = db_fault_new(real, nth, code);

    fault_of(db)->rows = rows;
    return db;
}

bool db_fault_fired(const struct db *db)
{
    return ((const struct fault *)db)->fired;
}

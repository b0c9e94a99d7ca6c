/* txn.h - a writer's transaction, and the state that its jobs share.
 *
 * Each writer thread has one for its whole life and reuses it for each
 * transaction. Features collect data in it while jobs are applied: each part
 * belongs to the feature that creates it (struct txn_methods) and is opaque to
 * all others and to the engine.
 *
 * Writer thread only.
 */
#pragma once
#include "base/err.h"

struct db;
struct engine;

enum txn_state {
    TXN_IDLE,        /* between transactions */
    TXN_OPEN,        /* begun; jobs are being applied */
    TXN_APPLIED,     /* all jobs applied and every feature prepared; the commit is next */
    TXN_COMMITTED,   /* durable now or after a sync; then each job's done(NULL) is called */
    TXN_ROLLED_BACK, /* all changes are discarded */
};

enum { TXN_PARTS_MAX = 12 };

struct txn {
    struct db *db;
    struct engine *engine; /* NULL in unit tests */
    enum txn_state state;  /* set by the writer only */

    struct {
        const char *name; /* compared as a pointer */
        void *part;
    } parts[TXN_PARTS_MAX]; /* of features, in the order in which they were set */
};

/* The part that a feature has set under this name, which is a static of its own; NULL: none. */
static inline void *txn_part(const struct txn *txn, const char *name)
{
    size_t i = 0;

    while (i < TXN_PARTS_MAX && txn->parts[i].name != name)
        i++;
    return i < TXN_PARTS_MAX ? txn->parts[i].part : NULL;
}

static inline void txn_set_part(struct txn *txn, const char *name, void *part)
{
    size_t i = 0;

    while (txn->parts[i].name != NULL && txn->parts[i].name != name)
        ASSERT_ALWAYS(++i < TXN_PARTS_MAX);
    txn->parts[i].name = name;
    txn->parts[i].part = part;
}

/* A feature's hooks for its part of a transaction. Any may be NULL. Features are called in the
 * order in which they start. */
struct txn_methods {
    void (*open)(struct engine *e, struct txn *txn); /* once, before the writer runs */
    void (*close)(struct txn *txn);                  /* once, after the writer has ended */

    /* All jobs have announced the rows they will need, and none is applied yet. Rows that every
     * writer locks first, in the order of tenants (such as those of tenants with new agents), are
     * locked here. */
    int (*announced)(struct txn *txn, struct error *err);

    /* All jobs are applied: prepare() of all features, then settle() of all, then the commit. What
     * other writers wait for, such as totals, is stored by settle(), so that they wait briefly and
     * locks have one order. */
    int (*prepare)(struct txn *txn, struct error *err);
    int (*settle)(struct txn *txn, struct error *err);
    void (*committed)(struct txn *txn); /* before any job's done() */
    void (*rolled_back)(struct txn *txn);
    void (*changed)(
        struct txn *txn); /* an exclusive job was committed and may have changed anything */
};

/* txn.h - a writer's transaction, and what the jobs in it share.
 *
 * Each writer thread has one, which lives as long as the thread and is used for
 * one transaction after the other. Features keep in it what gathers while the
 * jobs of a transaction are applied: each part belongs to the feature that makes
 * it (struct txn_methods) and is opaque to all others and to the engine.
 *
 * The writer's thread only.
 */
#pragma once
#include "base/err.h"

struct admit;
struct alert_notes;
struct db;
struct engine;
struct event_batch;
struct feed;
struct llm_totals;
struct rollups;

enum txn_state {
    TXN_IDLE,        /* between transactions */
    TXN_OPEN,        /* begun; jobs are being applied */
    TXN_APPLIED,     /* all jobs applied and every feature prepared; the commit is next */
    TXN_COMMITTED,   /* durable; each job's done(NULL) is called */
    TXN_ROLLED_BACK, /* nothing of it is kept */
};

struct txn {
    struct db *db;
    struct engine *engine; /* NULL in tests of single parts */
    enum txn_state state;  /* the writer's own */

    struct admit *admit;        /* agents: who may report, and who was seen */
    struct event_batch *events; /* events: gathered, to be stored in bulk */
    struct rollups *rollups;    /* kpis: what the totals change by */
    struct llm_totals *totals;  /* cost: what the sums of usage change by */
    struct alert_notes *notes;  /* alerts: opened and closed, published after the commit */
    struct feed *feed;          /* live: where changes are published; NULL: nowhere */
};

/* What a feature does with its part of a transaction. Any slot may be NULL. Features are called in
 * the order in which they start. */
struct txn_methods {
    void (*open)(struct engine *e, struct txn *txn); /* once, before the writer runs */
    void (*close)(struct txn *txn);                  /* once, after it has ended */

    /* All jobs are applied: prepare() of all features, then settle() of all, then the commit. What
     * other writers wait for, such as totals, is stored by settle(), so that they wait briefly and
     * locks have one order. */
    int (*prepare)(struct txn *txn, struct error *err);
    int (*settle)(struct txn *txn, struct error *err);
    void (*committed)(struct txn *txn); /* before any job is told */
    void (*rolled_back)(struct txn *txn);
    void (*changed)(
        struct txn *txn); /* after the commit of an exclusive job: anything may differ */
};

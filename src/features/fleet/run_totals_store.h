/* run_totals_store.h - SQL of counts of runs. */
#pragma once
#include "base/err.h"
#include "shape/shape.h"

struct db;

/* Runs that started from `since` on and before `until`, the newest `limit` of them. */
struct run_totals_span {
    int64_t tenant_id, since, until, limit;
    int64_t agent_id; /* 0: of all agents */
    int64_t first;    /* when the first period begins: that of `since`, so not after it */
    int64_t width_us; /* of a period */
};

struct run_total {
    int64_t period; /* counted from 0 */
    int64_t event;  /* of enum run_event: what closed the runs; -1: they are open */
    int64_t runs;
};

/* A list of struct run_total. */
int store_run_totals(struct db *db, const struct run_totals_span *span, struct arena *arena,
                     struct list *ret, struct error *err) MUST_CHECK;

/* A run of one agent. */
struct agent_run_total {
    int64_t period; /* counted from 0 */
    int64_t event;  /* as above */
    struct opt_int duration_ms;
};

/* A list of struct agent_run_total. */
int store_agent_runs(struct db *db, const struct run_totals_span *span, struct arena *arena,
                     struct list *ret, struct error *err) MUST_CHECK;

/* The most frequent errors of these runs: a list of struct error_total (shapes.h). */
int store_error_totals(struct db *db, const struct run_totals_span *span, struct arena *arena,
                       struct list *ret, struct error *err) MUST_CHECK;

/* run_kpis_store.h - the values that runs reported, one by one. */
#pragma once
#include "base/err.h"
#include "shape/shape.h"
#include "shape/timerange.h"

struct db;
struct kpi_reports;

/* At most RUN_KPIS_MAX, by agent and key: a list of struct run_kpi (shapes.h), in the arena. */
int store_run_kpis(struct db *db, int64_t tenant_id, struct str run_id, struct arena *arena,
                   struct list *ret, struct error *err) MUST_CHECK;

struct kpi_reports_span {
    int64_t tenant_id, agent_id;
    struct str key; /* as stored: db/name_key.h */
    struct time_range range;
    int64_t limit;
};

/* The newest values of a key in the range, each with its run; in the arena. */
int store_kpi_reports(struct db *db, const struct kpi_reports_span *span, struct arena *arena,
                      struct kpi_reports *ret, struct error *err) MUST_CHECK;

/* reports.h - stores business reports: the writer applies one in one transaction, together with
 * other requests. As rows they are merged by key per (tenant, agent, run).
 *
 * Of two values for one key the newer is kept: that of the report with the
 * later timestamp or, for equal timestamps, the one stored last. So reports may
 * arrive in any order, and storing a report again changes nothing.
 */
#pragma once
#include "api/route.h"
#include "base/arena.h"
#include "base/err.h"
#include "db/name_key.h"
#include "features/agents/admit.h"
#include "features/agents/report.h"
#include "features/kpis/shapes.h"

struct db;
struct old_value;
struct rollups;

struct business_value_row {
    struct name_key key;
    const struct named_value *value;
};

/* A breakdown by one set of dimensions, whatever their order in the report. */
struct business_breakdown_row {
    struct str metric;
    struct name_key dimensions; /* JSON array of the names, sorted by bytes */
    struct str cells;           /* JSON array of [value of each dimension…, number] */
};

/* A report as rows. */
struct business_rows {
    const struct business_telemetry *report;
    struct business_value_row *values;
    struct business_breakdown_row *breakdowns; /* no two with the same metric and dimensions */
    size_t n_values, n_breakdowns;
    struct str keys;       /* of the values, as a JSON array */
    struct old_value *old; /* the store's: space for the values being replaced */
};

/* Does all work that needs no database, before the writer's transaction. Borrows the report; the
 * rest is in the arena. */
void business_prepare(const struct business_telemetry *report, struct arena *arena,
                      struct business_rows *ret);

/* Merges the report into the stored values of its run. In PostgreSQL it locks the run until the
 * transaction ends, so that concurrent reports are applied one after the other. Changes of values
 * are collected in `rollups`, to be settled before the commit. `*ret_replaced`: how many stored
 * values and breakdowns were replaced. */
int business_put(struct db *db, const struct report_key *place, const struct business_rows *rows,
                 struct rollups *rollups, int64_t *ret_replaced, struct error *err) MUST_CHECK;

/* The report's keys that its agent did not declare, in the order of the report: a list of struct
 * str, in the arena. */
int business_undeclared(struct db *db, const struct report_key *place,
                        const struct business_rows *rows, struct arena *arena, struct list *ret,
                        struct error *err) MUST_CHECK;

struct business_report {
    struct report report;
    const struct business_telemetry *body;
    struct business_rows rows; /* filled in by business_report_prepare() */
    struct list undeclared;    /* of struct str: keys not declared at registration */
    int64_t replaced;          /* stored values and breakdowns */
};

/* Fills in the job of a report that has begun, for the caller to submit. */
void business_report_prepare(struct business_report *business);

extern const struct route kpi_report_routes[];

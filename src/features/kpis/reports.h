/* reports.h - stores business reports.
 *
 * The writer applies a report in one transaction, together with other requests.
 */
#pragma once
#include "api/route.h"
#include "features/agents/report.h"
#include "features/kpis/report_store.h"
#include "shape/shape.h"

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

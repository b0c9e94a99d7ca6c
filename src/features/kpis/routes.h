/* routes.h - the feature's routes, and those of the reads they name that have files of their own.
 *
 * Each read sees one snapshot of the database. */
#pragma once
#include "api/route.h"

extern const struct route kpi_report_routes[], kpi_routes[];

/* Ordered by agent and key. */
call_work_fn kpis_catalog;

/* As kpis_summary() of kpis.h. */
call_work_fn kpis_read_summary;

call_work_fn kpis_series;

/* Of the sets of dimensions that a run reported in the range, only the smallest that contains all
 * requested ones counts (of the same size the first by name), so that nothing counts twice. */
call_work_fn kpis_breakdown;

/* The values of one KPI of one agent, newest first. */
call_work_fn kpis_reports;

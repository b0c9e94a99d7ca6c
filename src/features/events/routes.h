/* routes.h - the feature's routes and commands, and the reads that routes name. */
#pragma once
#include "api/route.h"
#include "cli/command.h"

extern const struct route run_routes[], telemetry_routes[];
extern const struct command event_commands[];

/* Reads more of a run, in the transaction in which its row was read. */
struct run_row;
typedef int run_read_fn(struct api_call *call, struct db *db, int64_t run_no,
                        const struct run_row *run, struct error *err);

/* Finds the run of the path, and reads it from one snapshot. ERR_NOT_FOUND when the tenant has no
 * such run. */
int run_read_path(struct api_call *call, struct db *db, run_read_fn *read,
                  struct error *err) MUST_CHECK;

/* Counts the newest 10,000 runs of the query's range, with a text to search the newest 2,000, by
 * each of their values, and without one the newest 100,000 by their status. A value of one filter
 * is counted as if the others alone were set, so that choosing it leads to as many runs. */
call_work_fn run_facets_read;

/* When each category of a run was active: counts the first 200,000 events of the run that arrived,
 * by category and 200 parts of its time. */
call_work_fn run_timeline_read;

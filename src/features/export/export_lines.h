/* export_lines.h - writes the rows of an export as lines, in steps; private to exports.c. */
#pragma once
#include <stdatomic.h>

#include "features/export/exports.h"

struct db;
struct event_log;
struct prices;

struct export_source {
    struct event_log *events;
    struct prices *prices;
    const atomic_bool *stopping;
};

/* Writes all lines to job->write(). 0 also when job->write() returned false because the client has
 * gone; ERR_BUSY when `stopping` or job->cancelled became true; ERR_NOT_FOUND without the run. */
int export_lines(struct export_job *job, const struct export_source *source, struct db *db,
                 struct error *err) MUST_CHECK;

/* export_lines.h - writes the rows of an export as lines, in steps; private to exports.c. */
#pragma once
#include <stdatomic.h>

#include "features/export/exports.h"

struct db;

/* Writes all lines to job->write(). 0 also when job->write() cancelled the export; ERR_BUSY when
 * `stopping` became true. */
int export_lines(struct export_job *job, struct db *db, const atomic_bool *stopping,
                 struct error *err) MUST_CHECK;

/* export_lines.h - the rows of an export as lines, step by step; private to exports.c. */
#pragma once
#include <stdatomic.h>

#include "features/export/exports.h"

struct db;

/* Writes all lines to job->write(). 0 also when nobody wanted more; ERR_BUSY when `stopping`
 * turned true. */
int export_lines(struct export_job *job, struct db *db, const atomic_bool *stopping,
                 struct error *err) MUST_CHECK;

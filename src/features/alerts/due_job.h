/* due_job.h - a job of the writer that is submitted every few seconds, when something is due.
 *
 *     if (!due_job_begin(&m->due, wall_us, raw_us))
 *         return 0;
 *     r = has_due(m, &any, err);
 *     return due_job_end(&m->due, writer, r, any, err);
 *
 * The job reads again what is due, as of due.now_us. One thread at a time; the job itself belongs
 * to the writer until it is done.
 */
#pragma once
#include <stdbool.h>

#include "base/busy.h"
#include "base/err.h"
#include "engine/writer.h"

struct due_job {
    int64_t checked_us;    /* raw */
    int64_t now_us;        /* wall clock, for the job; belongs to the writer while it is busy */
    struct writer_job job; /* as does this */
    struct busy busy;
};

typedef int due_apply_fn(struct writer_job *job, struct txn *txn, struct error *err);

/* Is it time to look? Not within five seconds of the last time, nor while a job is under way. */
bool due_job_begin(struct due_job *due, int64_t wall_us, int64_t raw_us);

/* Submits the job if `any` is due and `r` is 0; else ends. Returns r, or -1. */
int due_job_end(struct due_job *due, struct writer *writer, due_apply_fn *apply, int r, bool any,
                struct error *err) MUST_CHECK;

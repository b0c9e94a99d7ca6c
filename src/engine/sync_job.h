/* sync_job.h - a write that the calling thread waits for. */
#pragma once
#include "base/err.h"

struct budget;
struct db;
struct writer;

/* Writer thread, in a transaction; may be called again after a rollback. */
typedef int sync_job_fn(void *ctx, struct db *db, struct error *err);

/* Returns when the job is durable or has failed; a full queue does not refuse it. Never call it on
 * a loop thread or the writer's. */
int writer_run_sync(struct writer *writer, sync_job_fn *fn, void *ctx,
                    struct error *err) MUST_CHECK;

/* The same for a caller who must be answered: it fails when that has waited for too long since
 * `asked_us`. Both are as in struct writer_job. */
int writer_run_sync_for(struct writer *writer, struct budget *budget, int64_t asked_us,
                        sync_job_fn *fn, void *ctx, struct error *err) MUST_CHECK;

/* sync_job.h - a write that the calling thread waits for. */
#pragma once
#include "base/err.h"

struct db;
struct writer;

/* Writer's thread, in a transaction; may be called again after a roll-back. */
typedef int sync_job_fn(void *ctx, struct db *db, struct error *err);

/* Returns when it is durable or has failed; never refused for a full queue. Not for loop threads or
 * the writer's. */
int writer_run_sync(struct writer *writer, sync_job_fn *fn, void *ctx,
                    struct error *err) MUST_CHECK;

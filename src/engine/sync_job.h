/* sync_job.h - a write that its thread waits for: for threads that have nothing else to do. */
#pragma once
#include "base/err.h"

struct db;
struct writer;

/* Writer's thread, in a transaction; may be called again after a roll-back. */
typedef int sync_job_fn(void *ctx, struct db *db, struct error *err);

/* Returns when it is durable, or has failed; never refused because much waits. Never on a loop's or
 * the writer's thread. */
int writer_run_sync(struct writer *writer, sync_job_fn *fn, void *ctx,
                    struct error *err) MUST_CHECK;

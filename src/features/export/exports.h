/* exports.h - exports all rows of a time range as lines, in constant memory.
 *
 * Each export has its own thread and database connection, so that it delays
 * neither readers nor the writer. How many run at once is a budget of the
 * tenant and of the service (BUDGET_EXPORTS). An export reads in short steps,
 * and neither a statement nor a transaction is open while it waits for its
 * client. Once a second exports_check() ends those that may not go on.
 */
#pragma once
#include <stdint.h>

#include "base/err.h"

struct engine;
struct export_job; /* export_run.h */
struct exports;
struct event_log;
struct prices;

struct exports_options {
    const char *database; /* as for db_open(); copied */
    struct event_log *events;
    struct prices *prices;
    int64_t max_us; /* duration of one export */
};

struct exports *exports_new(const struct exports_options *options);

/* Any thread. ERR_BUSY when the tenant's or the service's exports are running already, or the
 * service is stopping. */
int exports_submit(struct exports *e, struct export_job *job, struct error *err) MUST_CHECK;

/* Ends exports that may not go on. One thread. */
void exports_check(struct exports *e);

/* The number of running exports. Any thread. */
unsigned exports_running(struct exports *e);

/* Cuts running exports short, and refuses others. */
void exports_stop(struct exports *e);

/* The same. NULL is fine. */
void exports_free(struct exports *e);

/* The engine's. Any thread, until the engine stops. */
struct exports *export_exports(const struct engine *e);

/* exports.h - exports all rows of a time range as lines, in constant memory.
 *
 * Each export has its own thread and database connection, so that it delays
 * neither readers nor the writer. How many run at once is a budget of the
 * tenant and of the service (BUDGET_EXPORTS). An export reads in short steps,
 * and neither a statement nor a transaction is open while it waits for its
 * client. Once a second exports_check() ends those that may not go on.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "features/export/shapes.h"
#include "shape/timerange.h"

struct engine;
struct exports;
struct tenant_entry;

enum export_kind { EXPORT_EVENTS, EXPORT_BUSINESS, EXPORT_LLM };

/* Filled in by the caller; must live until done(). */
struct export_job {
    enum export_kind kind;
    enum export_format format;
    const struct tenant_entry *tenant;
    struct time_range range;
    struct str run_id; /* of events: only this run's; STR_NULL: all */
    bool skip_damaged; /* leave out rows that do not match their checksums, rather than end */

    /* On the export's thread. Consumes the bytes of `part`; may block. False cancels the export. */
    bool (*write)(struct export_job *job, struct buf *part);

    /* On the watcher's thread, about once a second until the end is near. May the caller still have
     * the rest? */
    bool (*may_go_on)(struct export_job *job);

    /* On the watcher's thread, after `cancelled` was set: ends a write that waits. May be called
     * several times. */
    void (*interrupt)(struct export_job *job);

    /* The last call on the export's thread, exactly once. `err` is NULL when everything was written
     * or the client has gone, and borrowed otherwise. */
    void (*done)(struct export_job *job, const struct error *err);

    /* Internal. */
    struct export_job *next;
    struct exports *exports;
    int64_t began_us;      /* monotonic */
    atomic_bool cancelled; /* it may not go on, or its time is over */
};

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

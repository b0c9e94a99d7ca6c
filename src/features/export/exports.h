/* exports.h - exports all rows of a time range as lines, in constant memory.
 *
 * Each export has its own thread and database connection, so that it delays
 * neither readers nor the writer; at most EXPORTS_MAX run at once. It reads in
 * short steps, and no transaction is open while it waits for a slow client.
 */
#pragma once
#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "features/export/shapes.h"
#include "shape/timerange.h"

struct engine;
struct exports;
struct tenant_entry;

enum { EXPORTS_MAX = 2 };

enum export_kind { EXPORT_EVENTS, EXPORT_BUSINESS, EXPORT_LLM };

/* Filled in by the caller; must live until done(). */
struct export_job {
    enum export_kind kind;
    enum export_format format;
    const struct tenant_entry *tenant;
    struct time_range range;

    /* On the export's thread. Consumes the bytes of `part`; may block. False cancels the export. */
    bool (*write)(struct export_job *job, struct buf *part);

    /* The last call on the export's thread, exactly once. `err` is NULL when everything was written
     * or the export was cancelled, and borrowed otherwise. */
    void (*done)(struct export_job *job, const struct error *err);
};

/* `database` as for db_open(); copied. */
struct exports *exports_new(const char *database);

/* Any thread. ERR_BUSY when EXPORTS_MAX are running or the service is stopping. */
int exports_submit(struct exports *e, struct export_job *job, struct error *err) MUST_CHECK;

/* The number of running exports. Any thread. */
unsigned exports_running(struct exports *e);

/* Cuts running exports short. NULL is fine. */
void exports_free(struct exports *e);

/* The engine's. Any thread, until the engine stops. */
struct exports *export_exports(const struct engine *e);

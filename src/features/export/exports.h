/* exports.h - everything of a time range, as lines, in constant memory.
 *
 * Each export has a thread and a database connection of its own, at most
 * EXPORTS_MAX at once, so that it keeps neither readers nor the writer from
 * their work. It reads in short steps, and no transaction is open while it
 * waits for whoever takes the lines.
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

/* Filled in by the caller, in memory that lives until done(). */
struct export_job {
    enum export_kind kind;
    enum export_format format;
    const struct tenant_entry *tenant;
    struct time_range range;

    /* Export's thread. Takes the bytes out of `part`; may block. False: nobody wants more. */
    bool (*write)(struct export_job *job, struct buf *part);

    /* Export's thread, exactly once, the last thing. `err` is NULL when everything was written or
     * nobody wanted more, and borrowed otherwise. */
    void (*done)(struct export_job *job, const struct error *err);
};

/* `database` is as for db_open(), and copied. */
struct exports *exports_new(const char *database);

/* Any thread. ERR_BUSY when enough are running or the service is stopping. */
int exports_submit(struct exports *e, struct export_job *job, struct error *err) MUST_CHECK;

/* How many are running. Any thread. */
unsigned exports_running(struct exports *e);

/* Those that run are ended before they are whole. NULL is fine. */
void exports_free(struct exports *e);

/* The engine's. Any thread, until the engine stops. */
struct exports *export_exports(const struct engine *e);

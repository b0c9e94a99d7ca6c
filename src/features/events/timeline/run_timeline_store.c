/* run_timeline_store.c - SQL that counts the events of a run by category and time. */
#include "features/events/timeline/run_timeline_store.h"

#include "db/db.h"
#include "features/events/event_page_store.h"
#include "features/events/event_rows.h"

/* clang-format off */
/* $3 is where the first bin begins, $4 how long a bin is, $5 how many events are counted, $6 how many
 * categories have rows of their own: the first ones. */
#define COUNTED(source, sorted, bytewise)                                                          \
    "WITH counted AS (SELECT k.category, k.timestamp, (k.timestamp - $3) / $4 AS bin,"             \
    " CASE WHEN " EVENT_IS_ERROR " THEN 1 ELSE 0 END AS error,"                                    \
    " CASE WHEN " EVENT_IS_WARNING " THEN 1 ELSE 0 END AS warning"                                 \
    " FROM " source sorted " LIMIT $5),"                                                           \
    " lanes AS (SELECT category, MIN(timestamp) AS first_at FROM counted GROUP BY category"        \
    " ORDER BY MIN(timestamp), category" bytewise " LIMIT $6)"                                     \
    " SELECT l.category, MIN(c.timestamp), MAX(c.timestamp), COUNT(*), SUM(c.error),"              \
    " SUM(c.warning) FROM counted c LEFT JOIN lanes l ON l.category = c.category"                  \
    " GROUP BY l.first_at, l.category, c.bin"                                                      \
    " ORDER BY l.first_at NULLS LAST, l.category" bytewise ", c.bin"
static const struct db_query select_bins = {
    .sqlite = COUNTED("run_extents x CROSS JOIN events k ON k.event_no >= x.first_event_no"
                      " AND k.event_no < x.first_event_no + x.n"
                      " WHERE x.run_no = $2 AND k.tenant_id = $1",
                      " ORDER BY x.first_event_no, k.event_no", ""),
    .postgres = COUNTED("events k WHERE k.tenant_id = $1 AND k.run_no = $2",
                        " ORDER BY k.event_no", " COLLATE \"C\""),
};
/* clang-format on */

struct bin_reader {
    void (*each)(void *ctx, const struct run_timeline_bin *bin);
    void *ctx;
};

static bool read_bin(void *ctx, const struct db_row *row)
{
    const struct bin_reader *reader = ctx;
    const struct run_timeline_bin bin = {
        .category = db_is_null(row, 0) ? STR_NULL : db_get_text(row, 0),
        .first_at = db_get_int(row, 1),
        .last_at = db_get_int(row, 2),
        .events = db_get_int(row, 3),
        .errors = db_get_int(row, 4),
        .warnings = db_get_int(row, 5),
    };

    reader->each(reader->ctx, &bin);
    return true;
}

int store_run_timeline(struct db *db, const struct run_timeline_span *span,
                       void (*each)(void *ctx, const struct run_timeline_bin *bin), void *ctx,
                       struct error *err)
{
    struct bin_reader reader = { each, ctx };
    const struct db_args args =
        DB_ARGS(db_int(span->tenant_id), db_int(span->run_no), db_int(span->from),
                db_int(span->bin_us), db_int(span->events_max), db_int(span->lanes_max));

    return db_exec(db, &select_bins, args, read_bin, &reader, err);
}

/* export_run.h - an export that is being written; private to this folder.
 *
 * export_lines.c finds the rows, in steps; export_rows.c writes them as lines.
 */
#pragma once
#include "features/export/export_lines.h"
#include "features/export/shapes.h"
#include "features/export/store.h"
#include "shape/json.h"

enum {
    EXPORT_PART = 256 << 10,     /* bytes with which the step ends, and the most per write */
    EXPORT_LINES_MAX = 64 << 20, /* a step's output and its last line, which the request bounds */
};

/* A breakdown whose cells are too many for one part: kept beyond its statement. */
struct long_breakdown {
    struct arena arena; /* of the strings of `line` */
    struct business_line line;
    yyjson_doc *names, *cells; /* NULL: no breakdown is being written */
};

struct export_run {
    struct export_job *job;
    const struct export_source *source;
    struct db *db;
    const struct shape *shape; /* of a line */
    struct buf out;
    size_t part_bytes;
    int64_t at;                  /* number of the last row added */
    size_t n;                    /* rows of this step */
    unsigned overdue;            /* steps in a row that took too long and have no line */
    bool full;                   /* the step has enough output */
    bool closed;                 /* job->write() returned false */
    bool cut;                    /* a line did not fit into `out` */
    struct business_place place; /* of the last row added, in `names` */
    struct llm_page page;
    struct price_book *book; /* of usage: the prices as they were at the beginning */
    struct buf names[2];     /* of `place` or of page.after */
    struct long_breakdown rest;
};

/* Has it been cancelled, or does the service stop? */
bool export_is_unwanted(const struct export_run *run);

/* Is it wanted, by its client too? */
bool export_may_continue(const struct export_run *run);

/* Hands over what has been written, in pieces: what waits for the client counts for all tenants. */
void export_flush(struct export_run *run);

/* Between two steps, when no statement is open: waits for the client. False when the export must
 * end. */
bool export_flush_and_continue(struct export_run *run);

/* At the end. */
void export_drop_rest(struct long_breakdown *rest);

/* Rows as lines; false when the step has enough. */
bool export_add_event(void *ctx, int64_t event_no, const struct stored_event *event);
bool export_add_usage(void *ctx, const struct llm_cursor *place, const struct llm_line *line);

/* The rows of a step. */
int export_step_events(struct export_run *run, const struct store_step *step,
                       struct error *err) MUST_CHECK;
int export_step_values(struct export_run *run, const struct store_step *step,
                       struct error *err) MUST_CHECK;
int export_step_breakdowns(struct export_run *run, const struct store_step *step,
                           struct error *err) MUST_CHECK;

/* export_run.h - an export, and how it is written; private to this folder.
 *
 * export_lines.c reads all rows of a time range in steps; export_rows.c has the SQL, and writes
 * rows as lines. Rows are numbered in the order of arrival. A step reads a tenant's rows in a range
 * of numbers: short enough for one query, so that no statement stays open while a slow client
 * receives the lines.
 */
#pragma once
#include <stdatomic.h>

#include "features/events/event_rows.h"
#include "features/export/shapes.h"
#include "shape/json.h"
#include "shape/timerange.h"

struct db;
struct event_log;
struct exports;
struct price_book;
struct prices;
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

struct export_source {
    struct event_log *events;
    struct prices *prices;
    const atomic_bool *stopping;
};

/* Writes all lines to job->write(). 0 also when job->write() returned false because the client has
 * gone; ERR_BUSY when `stopping` or job->cancelled became true; ERR_NOT_FOUND without the run. */
int export_lines(struct export_job *job, const struct export_source *source, struct db *db,
                 struct error *err) MUST_CHECK;

enum {
    EXPORT_PART = 256 << 10,     /* bytes with which the step ends, and the most per write */
    EXPORT_LINES_MAX = 64 << 20, /* a step's output and its last line, which the request bounds */
};

/* Where a value (run and key) or a breakdown (run, metric and dimensions) is among the others;
 * names as stored. A run may have reported any amount, so a step may end within it. */
struct business_place {
    int64_t run_no;
    struct str key, dimensions;
};

struct usage_place {
    int64_t timestamp, agent_id;
    struct str run_id, model;
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
    int64_t run_no;              /* of the only run whose events are read */
    int64_t at;                  /* number of the last row added */
    size_t n;                    /* rows of this step */
    unsigned overdue;            /* steps in a row that took too long and have no line */
    bool full;                   /* the step has enough output */
    bool closed;                 /* job->write() returned false */
    bool cut;                    /* a line did not fit into `out` */
    bool damaged;                /* a report's row does not match its checksum */
    struct business_place place; /* of the last row added; its texts are in `names` */
    struct usage_place after;    /* the same of usage */
    struct price_book *book;     /* of usage: the prices as they were at the beginning */
    struct buf names[2];
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

enum export_numbers { NUMBERS_OF_EVENTS, NUMBERS_OF_BUSINESS };

/* The tenant's greatest number, or a greater one; 0 without rows. */
int export_last_number(struct export_run *run, enum export_numbers of, int64_t *ret,
                       struct error *err) MUST_CHECK;

/* The number of a run before which none has a report in the time range, found by the time of each
 * run's newest; 0: no run has any. */
int export_first_business(struct export_run *run, int64_t *ret, struct error *err) MUST_CHECK;

/* The last number of a step of about `n` rows after all->after, at most all->until. Some of these
 * rows may be other tenants'. */
int export_step_end(struct export_run *run, enum export_numbers of, const struct event_step *all,
                    int64_t n, int64_t *ret, struct error *err) MUST_CHECK;

/* The rows of a step as lines, until it has enough. Of the run with number step->after only the
 * values and breakdowns after run->place: nothing when its strings are null. */
int export_step_events(struct export_run *run, const struct event_step *step,
                       struct error *err) MUST_CHECK;
int export_step_values(struct export_run *run, const struct event_step *step,
                       struct error *err) MUST_CHECK;
int export_step_breakdowns(struct export_run *run, const struct event_step *step,
                           struct error *err) MUST_CHECK;

/* Up to `limit` rows after the last one, as lines: events of run->run_no by arrival; usage by time,
 * agent, run and model. */
int export_page_of_run(struct export_run *run, int64_t limit, struct error *err) MUST_CHECK;
int export_page_of_usage(struct export_run *run, int64_t limit, struct error *err) MUST_CHECK;

/* store.h - reads all rows of a time range, in steps.
 *
 * Rows are numbered in the order of arrival. A step reads a tenant's rows in a
 * range of numbers: short enough for one query, so that no statement stays open
 * while a slow client receives the lines.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "features/events/event_rows.h"
#include "shape/timerange.h"

struct business_line;
struct db;
struct llm_line;

enum store_numbers { NUMBERS_OF_EVENTS, NUMBERS_OF_BUSINESS };

/* The tenant's greatest number, or a greater one; 0 without rows. */
int store_numbers_last(struct db *db, enum store_numbers of, int64_t tenant_id, int64_t *ret,
                       struct error *err) MUST_CHECK;

/* The number of a run before which none has a report since then, found by the time of each run's
 * newest; 0: no run has any. */
int store_business_first(struct db *db, int64_t tenant_id, int64_t since, int64_t *ret,
                         struct error *err) MUST_CHECK;

/* The last number of a step of about `n` rows after all->after, at most all->until. Some of these
 * rows may be other tenants'. */
int store_numbers_step(struct db *db, enum store_numbers of, const struct store_step *all,
                       int64_t n, int64_t *ret, struct error *err) MUST_CHECK;

/* Where a value (run and key) or a breakdown (run, metric and dimensions) is among the others;
 * names as stored. A run may have reported any amount, so a step may end within it. */
struct business_place {
    int64_t run_no;
    struct str key, dimensions;
};

/* What comes after step.after and up to step.until; of the run with number step.after only what
 * comes after `after`: nothing when its strings are null. */
struct business_step {
    struct store_step step;
    const struct business_place *after;
};

/* Strings are valid during the call only; `value` is JSON text. False: stop reading. */
typedef bool business_value_fn(void *ctx, const struct business_place *place,
                               const struct business_line *line);

/* The values of the runs of a step, by run and key. */
int store_business_values_step(struct db *db, const struct business_step *step,
                               business_value_fn *fn, void *ctx, struct error *err) MUST_CHECK;

/* A breakdown as stored; `line` lacks dimensions and value. */
struct stored_breakdown {
    struct business_place place;
    const struct business_line *line;
    struct str dimensions; /* JSON array of their names, in full */
    struct str cells;      /* JSON array of [value of each dimension…, number] */
};

typedef bool breakdown_row_fn(void *ctx, const struct stored_breakdown *breakdown);

/* The breakdowns of the runs of a step, by run, metric and dimensions. */
int store_breakdowns_step(struct db *db, const struct business_step *step, breakdown_row_fn *fn,
                          void *ctx, struct error *err) MUST_CHECK;

/* The last row of a page of usage. */
struct llm_cursor {
    int64_t timestamp, agent_id;
    struct str run_id, model;
};

/* `place` is borrowed like the line. */
typedef bool llm_row_fn(void *ctx, const struct llm_cursor *place, const struct llm_line *line);

struct llm_page {
    int64_t tenant_id;
    struct time_range range;
    struct llm_cursor after; /* for the first page: the start of the range, 0 and empty strings */
    int64_t limit;
};

/* Up to `limit` usages, by time, agent, run and model. */
int store_llm_page(struct db *db, const struct llm_page *page, llm_row_fn *fn, void *ctx,
                   struct error *err) MUST_CHECK;

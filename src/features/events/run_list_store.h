/* run_list_store.h - pages of runs, newest start first. */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "features/events/run_cursor.h"
#include "features/events/runs_store.h"
#include "shape/shape.h"

struct db;

/* Which runs, and how many of them. */
struct run_filter {
    struct run_cursor after;    /* exclusive: where the page before ended */
    int64_t since;              /* inclusive, on the start; INT64_MIN: from the beginning */
    int64_t until;              /* exclusive; INT64_MAX: no end */
    int64_t agent_id;           /* 0: any */
    int status;                 /* enum run_status; -1: any */
    struct str workflow_run_id; /* null: any */
    int64_t limit;
    int64_t scan_max; /* runs looked at for a page at most, where not all of them fit the filter */
};

struct run_found {
    int64_t run_no;
    struct str run_id;
    struct run_row run;
};

struct run_page {
    struct list runs; /* of struct run_found, in the arena */
    bool more;        /* there may be: ask for what comes after `end` */
    struct run_cursor end;
};

/* A page may have fewer runs than asked for, even none, and still not be the last: what it costs is
 * bounded by scan_max. Call it inside a transaction, for one view of the list. */
int store_run_list(struct db *db, int64_t tenant_id, const struct run_filter *filter,
                   struct arena *arena, struct run_page *ret, struct error *err) MUST_CHECK;

/* For tests, which ask the database how it goes about it. */
extern const struct db_query run_list_page, run_list_agent_page, run_list_workflow_page;
extern const struct db_query run_list_floor, run_list_agent_floor, run_list_workflow_floor;

/* store.h - schedules that people set, and maintenance windows, as rows. */
#pragma once
#include "base/arena.h"
#include "features/agents/schedules/schedules.h"

int schedule_put(struct db *db, int64_t tenant_id, int64_t agent_id, const struct schedule_row *row,
                 struct error *err) MUST_CHECK;

struct window_row {
    int64_t tenant_id;
    struct str window_id;
    struct opt_int agent_id; /* none: all agents */
    struct str agent_name;   /* STR_NULL; not in a list of all tenants */
    struct str note;
    int64_t from_at, until_at; /* TIME_NULL: weekly */
    int64_t weekdays;          /* a bit for each, Sunday is 0; 0: once */
    int64_t start_minute, minutes;
    struct str time_zone; /* STR_NULL: once */
    int64_t created_at;
    struct str created_by;
    bool ended; /* a person removed it, or it is over for long: it is not listed */
};

struct window window_of(const struct window_row *row);

/* The windows of a tenant: a list of struct window_row by id; in the arena. */
int windows_list(struct db *db, int64_t tenant_id, struct arena *arena, struct list *ret,
                 struct error *err) MUST_CHECK;

int window_add(struct db *db, const struct window_row *row, struct error *err) MUST_CHECK;
int window_delete(struct db *db, int64_t tenant_id, struct str window_id,
                  struct error *err) MUST_CHECK;

/* Makes it a window that was once: from `from` until `until`, and not listed. */
int window_close(struct db *db, const struct window_row *row, struct error *err) MUST_CHECK;

/* Takes those off the list that ended before a time, for agents whose interval is longer than that;
 * and deletes of those that are not listed all but the newest. */
int windows_prune(struct db *db, int64_t tenant_id, int64_t before, struct error *err) MUST_CHECK;

/* store.h - schedules that people set, and maintenance windows, as rows. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/agents/schedules/schedule.h"
#include "features/agents/schedules/windows.h"

struct db;

/* For queries that join agents `a` with their schedules: the columns of struct schedule_row. */
#define SCHEDULE_COLUMNS                                                                           \
    " c.every_seconds, c.cron, c.time_zone, c.grace_seconds,"                                      \
    " COALESCE(c.paused, 0) AS paused, c.scheduled_at"
#define SCHEDULE_JOIN                                                                              \
    " LEFT JOIN agent_schedules c ON c.tenant_id = a.tenant_id AND c.agent_id = a.agent_id"

struct scheduled_agent {
    int64_t agent_id; /* 0: no such agent */
    struct opt_int interval_seconds;
    struct schedule_row schedule;
};

int store_schedule(struct db *db, int64_t tenant_id, struct str agent_name, struct arena *arena,
                   struct scheduled_agent *ret, struct error *err) MUST_CHECK;

int store_schedule_set(struct db *db, int64_t tenant_id, int64_t agent_id,
                       const struct schedule_row *row, struct error *err) MUST_CHECK;

/* Windows of a tenant, or of all: a list of struct window_row by tenant and id; in the arena. */
int store_windows(struct db *db, int64_t tenant_id, struct arena *arena, struct list *ret,
                  struct error *err) MUST_CHECK;
int store_windows_all(struct db *db, struct arena *arena, struct list *ret,
                      struct error *err) MUST_CHECK;

int store_window_add(struct db *db, const struct window_row *row, struct error *err) MUST_CHECK;
int store_window_delete(struct db *db, int64_t tenant_id, struct str window_id,
                        struct error *err) MUST_CHECK;

/* Makes it a window that was once: from `from` until `until`, and not listed. */
int store_window_end(struct db *db, const struct window_row *row, struct error *err) MUST_CHECK;

/* Takes those off the list that ended before a time, for agents whose interval is longer than that;
 * and deletes of those that are not listed all but the newest. */
int store_windows_prune(struct db *db, int64_t tenant_id, int64_t before,
                        struct error *err) MUST_CHECK;

/* schedules.h - people set when agents are expected, and plan maintenance. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/agents/schedules/schedule.h"
#include "features/agents/schedules/windows.h"

struct agent_schedule;
struct db;
struct maintenance_window;
struct schedule_set;
struct schedule_state;
struct window_create;
struct window_list;

enum { WINDOWS_MAX = 100 }; /* per tenant */

/* The schedule in force, for people; NULL: the agent has no schedule. */
struct agent_schedule *schedule_answer(const struct opt_int *declared_seconds,
                                       const struct schedule_row *row, int64_t now_us,
                                       struct arena *arena);

/* Sets the schedule of ret->agent_name, or with `set` NULL goes back to what the agent declares.
 * ERR_NOT_FOUND; ERR_CONFLICT: there would be nothing to pause or to give grace to. */
int schedules_set(struct db *db, int64_t tenant_id, const struct schedule_set *set,
                  struct arena *arena, struct schedule_state *ret, struct error *err) MUST_CHECK;

/* The windows of a tenant, ready to be asked; in the arena. */
int schedules_windows(struct db *db, int64_t tenant_id, struct arena *arena, struct windows *ret,
                      struct error *err) MUST_CHECK;

struct windows_call {
    struct db *db;
    int64_t tenant_id, now_us;
    struct arena *arena;
};

int windows_show(const struct windows_call *call, struct window_list *ret,
                 struct error *err) MUST_CHECK;

/* ERR_NOT_FOUND: no such agent; ERR_CONFLICT: there are WINDOWS_MAX. */
int windows_add(const struct windows_call *call, const struct window_create *body, struct str actor,
                struct maintenance_window *ret, struct error *err) MUST_CHECK;

/* One that is going on counts until now, so that agents get a new start. ERR_NOT_FOUND. */
int windows_remove(const struct windows_call *call, struct str window_id,
                   struct error *err) MUST_CHECK;

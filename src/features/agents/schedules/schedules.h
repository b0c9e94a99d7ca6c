/* schedules.h - when agents are expected, and planned maintenance, for other readers. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/agents/schedules/schedule.h"
#include "features/agents/schedules/windows.h"

struct agent_schedule;
struct db;

/* The schedule in force, for people; NULL: the agent has no schedule. */
struct agent_schedule *schedule_answer(const struct opt_int *declared_seconds,
                                       const struct schedule_row *row, int64_t now_us,
                                       struct arena *arena);

/* The windows of a tenant, ready to be asked; in the arena. */
int schedules_windows(struct db *db, int64_t tenant_id, struct arena *arena, struct windows *ret,
                      struct error *err) MUST_CHECK;

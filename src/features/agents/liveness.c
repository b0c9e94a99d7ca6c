/* liveness.c - an agent's state by its last-seen time. */
#include "features/agents/liveness.h"

const char *const liveness_names[] = { "up",          "late",           "silent",
                                       "unscheduled", "never_reported", "disabled",
                                       NULL };

struct liveness_verdict liveness_of(const struct liveness *agent, int64_t now_us)
{
    struct liveness_verdict verdict = { LIVENESS_UNSCHEDULED, TIME_NULL, TIME_NULL, TIME_NULL };
    struct windows_search search = { .windows = &agent->windows, .now = now_us };
    struct deadline deadline;

    if (agent->last_seen_at == TIME_NULL)
        verdict.state = LIVENESS_NEVER_REPORTED;
    if (!agent->enabled)
        verdict.state = LIVENESS_DISABLED;
    if (agent->windows.n > 0 && !agent->state_only)
        verdict.maintenance_until = windows_end(&search, now_us);
    if (!agent->enabled || !schedule_expects(&agent->schedule) || agent->last_seen_at == TIME_NULL)
        return verdict;
    deadline = schedule_deadline(&agent->schedule, agent->last_seen_at, now_us);
    if (!agent->state_only || now_us >= deadline.due_at) /* maintenance only moves it ahead */
        deadline = schedule_deadline_outside(&agent->schedule, &agent->windows, agent->last_seen_at,
                                             now_us);
    verdict.next_expected_at = deadline.due_at;
    verdict.silent_at = deadline.silent_at;
    verdict.state = LIVENESS_UP;
    if (now_us >= deadline.due_at)
        verdict.state = now_us >= deadline.silent_at ? LIVENESS_SILENT : LIVENESS_LATE;
    return verdict;
}

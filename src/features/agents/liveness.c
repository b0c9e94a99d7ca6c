/* liveness.c - an agent's state by its last-seen time. */
#include "features/agents/liveness.h"

#include "base/clock.h"

const char *const liveness_names[] = { "up",          "late",           "silent",
                                       "unscheduled", "never_reported", "disabled",
                                       NULL };

static const int64_t interval_max_s = 100LL * 365 * 24 * 3600;
static const int64_t grace_least_us = 60LL * USEC_PER_SEC, grace_most_us = 3600LL * USEC_PER_SEC;

int64_t liveness_interval_us(const struct opt_int *interval_seconds)
{
    int64_t seconds = interval_seconds->has ? interval_seconds->value : 0;

    if (seconds <= 0)
        return 0;
    return (seconds < interval_max_s ? seconds : interval_max_s) * USEC_PER_SEC;
}

int64_t liveness_grace_us(int64_t interval_us)
{
    int64_t half = interval_us / 2;

    if (half < grace_least_us)
        return grace_least_us;
    return half < grace_most_us ? half : grace_most_us;
}

struct liveness_verdict liveness_of(const struct liveness *agent, int64_t now_us)
{
    struct liveness_verdict verdict = { LIVENESS_UNSCHEDULED, TIME_NULL, TIME_NULL };
    int64_t interval_us = liveness_interval_us(&agent->interval_seconds);

    if (agent->last_seen_at == TIME_NULL)
        verdict.state = LIVENESS_NEVER_REPORTED;
    if (!agent->enabled)
        verdict.state = LIVENESS_DISABLED;
    if (!agent->enabled || interval_us == 0 || agent->last_seen_at == TIME_NULL)
        return verdict;
    verdict.next_expected_at = agent->last_seen_at + interval_us;
    verdict.silent_at = verdict.next_expected_at + liveness_grace_us(interval_us);
    verdict.state = LIVENESS_UP;
    if (now_us >= verdict.next_expected_at)
        verdict.state = now_us >= verdict.silent_at ? LIVENESS_SILENT : LIVENESS_LATE;
    return verdict;
}

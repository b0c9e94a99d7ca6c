/* sweep_pace.c - shares of a second. */
#include "features/retention/sweep_pace.h"

#include <assert.h>

#include "base/clock.h"

enum {
    IDLE_US = 500000, /* of a writer's time per second without incoming reports … */
    BUSY_US = 100000, /* … and with them; then also at most … */
    BUSY_ROWS = 1000, /* … this many rows … */
    ROW_BYTES = 512,  /* … plus one per this many incoming bytes; the last three times the effort */
    WAITING_PART = 20,  /* of what arrives in a second or two: if more waits, reports are late */
    EFFORT_ALONE = 4,   /* the one writer of SQLite has 0.6 of a second left for reports … */
    EFFORT_SEVERAL = 8, /* … and one of several 0.2 of it */
};

#define PERIOD_US ((int64_t)SWEEP_PERIOD_S * USEC_PER_SEC)

void sweep_pace_init(struct sweep_pace *p, bool several)
{
    *p = (struct sweep_pace){ .effort = 1, .effort_max = several ? EFFORT_SEVERAL : EFFORT_ALONE };
}

/* Behind: a pass is still under way when the next one is due. */
static void adjust_effort(struct sweep_pace *p, bool under_way, int64_t mono_us)
{
    if (under_way && !p->under_way)
        p->began_us = p->checked_us = mono_us;
    else if (under_way && mono_us - p->checked_us >= PERIOD_US) {
        p->effort = p->effort < p->effort_max ? 2 * p->effort : p->effort;
        p->checked_us = mono_us;
    } else if (!under_way && p->under_way && mono_us - p->began_us <= PERIOD_US / 2 &&
               p->effort > 1)
        p->effort /= 2;
    p->under_way = under_way;
    assert(p->effort >= 1 && p->effort <= p->effort_max);
}

void sweep_pace_tick(struct sweep_pace *p, bool under_way, int64_t mono_us, uint64_t incoming)
{
    adjust_effort(p, under_way, mono_us);
    p->before = p->ticked;
    p->ticked = incoming;
    p->spent_us = p->rows = 0;
}

void sweep_pace_failed(struct sweep_pace *p)
{
    p->under_way = false;
}

void sweep_pace_spend(struct sweep_pace *p, int64_t us, int64_t rows)
{
    p->spent_us += us;
    p->rows += rows;
}

/* Deletions are writes, too: in SQLite most of their cost falls on the commits of other
 * transactions. */
bool sweep_pace_may_continue(const struct sweep_pace *p, uint64_t incoming, uint64_t waiting)
{
    const int64_t busy_us = BUSY_US * (int64_t)p->effort;
    const uint64_t arrived = incoming - p->before;
    const bool late = waiting > arrived / WAITING_PART;
    int64_t rows = BUSY_ROWS + (int64_t)(arrived / ROW_BYTES);

    if (arrived == 0)
        return p->spent_us < (busy_us > IDLE_US ? busy_us : IDLE_US);
    if (!late)
        rows *= (int64_t)p->effort;
    return p->spent_us < busy_us && p->rows < rows;
}

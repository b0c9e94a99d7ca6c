/* rate_due.c - lists of those who wait. */
#include "features/access/rates/rate_due.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

struct rate_due *rate_due_new(struct rate_window *window)
{
    struct rate_due *due = NEW(struct rate_due);

    due->window = rate_window_hold(window);
    due->last = &due->first;
    return due;
}

void rate_due_free(struct rate_due *due)
{
    assert(due->first == NULL);
    rate_window_free(due->window);
    free(due);
}

void rate_due_add(struct rate_due *due, struct rate_waiter *waiter)
{
    waiter->next = NULL;
    *due->last = waiter;
    due->last = &waiter->next;
}

void rate_due_prepend(struct rate_due *due, struct rate_due *earlier)
{
    if (earlier->first == NULL)
        return;
    *earlier->last = due->first;
    if (due->first == NULL)
        due->last = earlier->last;
    due->first = earlier->first;
    earlier->first = NULL;
    earlier->last = &earlier->first;
}

void rate_due_deny_excess(struct rate_due *due, int64_t now_us)
{
    int64_t excess = rate_excess(due->window, due->limit, now_us), n = 0;

    for (const struct rate_waiter *w = due->first; w != NULL; w = w->next)
        n += w->denied ? 0 : 1;
    for (struct rate_waiter *w = due->first; w != NULL && excess > 0; w = w->next) {
        if (w->denied || n-- > excess)
            continue;
        w->denied = true;
        rate_give_back(due->window);
        excess--;
    }
}

void rate_due_finish(struct rate_due *due, int64_t over_us, const struct error *err)
{
    struct rate_waiter *next = due->first;

    due->first = NULL;
    due->last = &due->first;
    while (next != NULL) {
        struct rate_waiter *waiter = next;

        next = waiter->next;
        if (!waiter->denied && waiter->asked_us > over_us)
            rate_due_add(due, waiter);
        else
            waiter->done(waiter, waiter->denied ? NULL : err);
    }
}

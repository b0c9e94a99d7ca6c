/* charge.c - counts bodies and replies, and evicts the slowest body when there is no room. */
#include "http/charge.h"

#include <assert.h>

#include "base/clock.h"
#include "base/metrics.h"

/* A body that had no progress for this long may be evicted in favour of one of the same caller. */
static const int64_t stalled_us = USEC_PER_SEC;

/* Walks over all bodies for one that finds no room: thousands of tiny ones may have to go for it,
 * and all loops wait meanwhile. */
enum { WALKS_MAX = 4 };

void http_bodies_init(struct http_bodies *bodies, void (*wake)(struct http_charge *evicted))
{
    lock_init(&bodies->lock);
    bodies->first = bodies->last = NULL;
    bodies->wake = wake;
}

void http_bodies_done(struct http_bodies *bodies)
{
    lock_unshared(&bodies->lock);
    assert(bodies->first == NULL);
    lock_done(&bodies->lock);
}

static void unlink_charge(struct http_bodies *bodies, struct http_charge *c) REQUIRES(bodies->lock)
{
    if (c->previous != NULL)
        c->previous->next = c->next;
    else
        bodies->first = c->next;
    if (c->next != NULL)
        c->next->previous = c->previous;
    else
        bodies->last = c->previous;
    c->previous = c->next = NULL;
}

static void link_first(struct http_bodies *bodies, struct http_charge *c) REQUIRES(bodies->lock)
{
    c->next = bodies->first;
    if (c->next != NULL)
        c->next->previous = c;
    else
        bodies->last = c;
    bodies->first = c;
}

/* The node through which `b` counts at `top`: its ancestor just below it, or `top` itself; NULL
 * when it does not count there. */
static const struct budget *branch_of(const struct budget *b, const struct budget *top)
{
    const struct budget *below = b;

    for (; b != NULL && b != top; b = b->parent)
        below = b;
    return b == NULL ? NULL : below;
}

/* Of the nodes just below `top` that incomplete bodies are charged to, the one that holds most. */
static const struct budget *heaviest(const struct http_bodies *bodies, const struct budget *top)
    REQUIRES(bodies->lock)
{
    const struct budget *most = NULL;

    for (const struct http_charge *c = bodies->first; c != NULL; c = c->next) {
        const struct budget *branch = branch_of(c->budget, top);

        if (branch != NULL && (most == NULL || budget_used(branch, BUDGET_BODY_BYTES) >
                                                   budget_used(most, BUDGET_BODY_BYTES)))
            most = branch;
    }
    return most;
}

static void evict(struct http_bodies *bodies, struct http_charge *victim) REQUIRES(bodies->lock)
{
    unlink_charge(bodies, victim);
    victim->evicted = true;
    budget_give(victim->budget, BUDGET_BODY_BYTES, victim->body);
    victim->body = 0;
    metric_add(METRIC_BODIES_EVICTED, 1);
    bodies->wake(victim);
}

/* Evicts bodies below `from`, other than `c`, until they have held `n` bytes: those that have been
 * without progress for longest first. When `mine` is NULL, only such as have stalled; else until
 * `from` holds no more than `mine`. False: none. */
static bool evict_below(struct http_bodies *bodies, const struct budget *from,
                        const struct http_charge *c, int64_t n, const struct budget *mine)
    REQUIRES(bodies->lock)
{
    int64_t stalled_since = clock_mono_us() - stalled_us, freed = 0;

    for (struct http_charge *at = bodies->last, *newer; at != NULL && freed < n; at = newer) {
        newer = at->previous;
        if (mine == NULL
                ? at->stepped_us > stalled_since
                : budget_used(from, BUDGET_BODY_BYTES) <= budget_used(mine, BUDGET_BODY_BYTES))
            break;
        if (at == c || branch_of(at->budget, from) == NULL)
            continue;
        freed += at->body;
        evict(bodies, at);
    }
    return freed > 0;
}

/* There is no room at `top` for `n` bytes more of `c`: the slowest of the branch that holds most
 * go, when that is more than this one's branch holds. Among equals only those that have stalled go.
 */
static bool make_room(struct http_bodies *bodies, const struct http_charge *c,
                      const struct budget *top, int64_t n) REQUIRES(bodies->lock)
{
    const struct budget *mine = branch_of(c->budget, top);
    const struct budget *most = top == c->budget ? mine : heaviest(bodies, top);

    if (most != NULL && most != mine &&
        budget_used(most, BUDGET_BODY_BYTES) > budget_used(mine, BUDGET_BODY_BYTES))
        return evict_below(bodies, most, c, n, mine);
    return evict_below(bodies, top, c, n, NULL);
}

static const struct budget *grow(struct http_charge *c, int64_t n)
{
    if (c->body + n <= HTTP_SMALL_BODY)
        return budget_try(c->budget, BUDGET_BODY_BYTES, n);
    return budget_grow(c->budget, BUDGET_BODY_BYTES, c->body, n);
}

static bool grow_evicting(struct http_charge *c, int64_t n) REQUIRES(c->bodies->lock)
{
    if (c->evicted)
        return false;
    for (int walks = 0; (c->full = grow(c, n)) != NULL; walks++)
        if (walks == WALKS_MAX || !make_room(c->bodies, c, c->full, n))
            return false;
    return true;
}

bool http_charge_body(struct http_charge *c, size_t n)
{
    int64_t bytes = (int64_t)n;
    bool taken;

    if (c->budget == NULL || bytes == 0)
        return true;
    if (!c->listed) {
        c->full = grow(c, bytes);
        if (c->full == NULL)
            c->body += bytes;
        if (c->full == NULL || c->bodies == NULL)
            return c->full == NULL;
    }
    lock_acquire(&c->bodies->lock);
    taken = grow_evicting(c, bytes);
    if (taken)
        c->body += bytes;
    if (taken && c->body - c->step >= HTTP_SMALL_BODY) {
        c->step = c->body;
        c->stepped_us = clock_mono_us();
        if (c->listed) {
            unlink_charge(c->bodies, c);
            link_first(c->bodies, c);
        }
    }
    lock_release(&c->bodies->lock);
    return taken;
}

static void shrink(struct http_charge *c, int64_t n)
{
    assert(c->body >= n);
    budget_give(c->budget, BUDGET_BODY_BYTES, n);
    c->body -= n;
    c->step = c->step < c->body ? c->step : c->body;
}

void http_charge_shrink_body(struct http_charge *c, size_t n)
{
    if (c->budget == NULL || n == 0)
        return;
    if (!c->listed) {
        shrink(c, (int64_t)n);
        return;
    }
    lock_acquire(&c->bodies->lock);
    if (!c->evicted) /* else it holds nothing */
        shrink(c, (int64_t)n);
    lock_release(&c->bodies->lock);
}

void http_charge_list(struct http_charge *c, int64_t now_us)
{
    if (c->listed || c->body == 0 || c->bodies == NULL)
        return;
    c->listed = true;
    c->step = c->body;
    c->stepped_us = now_us;
    lock_acquire(&c->bodies->lock);
    link_first(c->bodies, c);
    lock_release(&c->bodies->lock);
}

bool http_charge_unlist(struct http_charge *c)
{
    bool evicted;

    if (!c->listed)
        return !c->evicted;
    lock_acquire(&c->bodies->lock);
    evicted = c->evicted;
    if (!evicted)
        unlink_charge(c->bodies, c);
    lock_release(&c->bodies->lock);
    c->listed = false;
    return !evicted;
}

bool http_charge_is_evicted(struct http_charge *c)
{
    bool evicted;

    if (!c->listed)
        return c->evicted;
    lock_acquire(&c->bodies->lock);
    evicted = c->evicted;
    lock_release(&c->bodies->lock);
    return evicted;
}

const struct budget *http_charge_reply(struct http_charge *c, size_t n)
{
    const struct budget *full = NULL;

    if (c->budget != NULL)
        full = budget_try(c->budget, BUDGET_REPLY_BYTES, (int64_t)n);
    if (c->budget != NULL && full == NULL)
        c->reply += (int64_t)n;
    return full;
}

void http_charge_waiting(struct http_charge *c, size_t n)
{
    int64_t more = (int64_t)n - c->reply;

    if (c->budget == NULL || more <= 0)
        return;
    budget_force(c->budget, BUDGET_REPLY_BYTES, more);
    c->reply += more;
}

void http_charge_drop_body(struct http_charge *c)
{
    (void)http_charge_unlist(c);
    if (c->body > 0)
        budget_give(c->budget, BUDGET_BODY_BYTES, c->body);
    c->body = 0;
}

void http_charge_drop(struct http_charge *c)
{
    http_charge_drop_body(c);
    if (c->reply > 0)
        budget_give(c->budget, BUDGET_REPLY_BYTES, c->reply);
    c->reply = 0;
}

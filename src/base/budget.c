/* budget.c - counts along the path from a node to the top. */
#include "base/budget.h"

#include <assert.h>

const char *budget_kind_name(enum budget_kind kind)
{
    static const char *const names[BUDGET_KINDS] = {
        [BUDGET_BODY_BYTES] = "body_bytes", [BUDGET_REPLY_BYTES] = "reply_bytes",
        [BUDGET_EVENTS] = "queued_events",  [BUDGET_WRITER_US] = "writer_us",
        [BUDGET_READS] = "reads",           [BUDGET_EXPORTS] = "exports",
        [BUDGET_STREAMS] = "streams",       [BUDGET_CONNECTIONS] = "connections",
    };

    return names[kind];
}

void budget_init(struct budget *b, struct budget_level *level, struct budget *parent)
{
    b->level = level;
    b->parent = parent;
    for (int i = 0; i < BUDGET_KINDS; i++)
        atomic_init(&b->used[i], 0);
}

/* Relaxed: a count guards no other memory. */
static int64_t add(struct budget *b, enum budget_kind kind, int64_t n)
{
    return atomic_fetch_add_explicit(&b->used[kind], n, memory_order_relaxed) + n;
}

static void give_below(struct budget *from, const struct budget *end, enum budget_kind kind,
                       int64_t n)
{
    for (struct budget *b = from; b != end; b = b->parent) {
        int64_t left = add(b, kind, -n);

        assert(left >= 0); /* invariant 2 */
        (void)left;
    }
}

bool budget_take(struct budget *b, enum budget_kind kind, int64_t n)
{
    assert(n >= 0);
    for (struct budget *at = b; at != NULL; at = at->parent) {
        int64_t max = at->level->max[kind];

        if (add(at, kind, n) <= max || max == 0)
            continue;
        give_below(b, at->parent, kind, n);
        atomic_fetch_add_explicit(&at->level->refused[kind], 1, memory_order_relaxed);
        return false;
    }
    return true;
}

void budget_force(struct budget *b, enum budget_kind kind, int64_t n)
{
    assert(n >= 0);
    for (; b != NULL; b = b->parent)
        (void)add(b, kind, n);
}

void budget_give(struct budget *b, enum budget_kind kind, int64_t n)
{
    assert(n >= 0);
    give_below(b, NULL, kind, n);
}

int64_t budget_used(const struct budget *b, enum budget_kind kind)
{
    return atomic_load_explicit(&b->used[kind], memory_order_relaxed);
}

void budgets_init(struct budgets *ret)
{
    *ret = (struct budgets){ .service_level = { .name = "service" },
                             .tenant_level = { .name = "tenant" },
                             .key_level = { .name = "key" },
                             .address_level = { .name = "address" } };
    budget_init(&ret->service, &ret->service_level, NULL);
}

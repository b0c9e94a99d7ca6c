/* budget.c - counts along the path from a node to the top. */
#include "base/budget.h"

#include <assert.h>

const char *budget_kind_name(enum budget_kind kind)
{
    static const char *const names[BUDGET_KINDS] = {
        [BUDGET_BODY_BYTES] = "body_bytes",
        [BUDGET_REPLY_BYTES] = "reply_bytes",
        [BUDGET_EVENTS] = "queued_events",
        [BUDGET_WRITER_US] = "writer_us",
        [BUDGET_READS] = "reads",
        [BUDGET_EXPORTS] = "exports",
        [BUDGET_STREAMS] = "streams",
        [BUDGET_CONNECTIONS] = "connections",
        [BUDGET_PIPELINED] = "pipelined_bytes",
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

/* A count guards no other memory, but a node may be freed once nothing is counted in it. */
static int64_t add(struct budget *b, enum budget_kind kind, int64_t n)
{
    return atomic_fetch_add_explicit(&b->used[kind], n, memory_order_relaxed) + n;
}

static void give_below(struct budget *from, const struct budget *end, enum budget_kind kind,
                       int64_t n)
{
    for (struct budget *b = from, *parent; b != end; b = parent) {
        int64_t before;

        parent = b->parent; /* the node may be gone after this */
        before = atomic_fetch_sub_explicit(&b->used[kind], n, memory_order_release);
        assert(before >= n); /* invariant 2 */
        (void)before;
    }
}

static struct budget *refuse(struct budget *at, enum budget_kind kind)
{
    atomic_fetch_add_explicit(&at->level->refused[kind], 1, memory_order_relaxed);
    return at;
}

struct budget *budget_try(struct budget *b, enum budget_kind kind, int64_t n)
{
    assert(n >= 0);
    for (struct budget *at = b; at != NULL; at = at->parent) {
        int64_t max = at->level->max[kind];

        if (add(at, kind, n) <= max || max == 0)
            continue;
        give_below(b, at->parent, kind, n);
        return refuse(at, kind);
    }
    return NULL;
}

struct budget *budget_grow(struct budget *b, enum budget_kind kind, int64_t held, int64_t n)
{
    assert(n >= 0 && held >= 0);
    for (struct budget *at = b; at != NULL; at = at->parent) {
        int64_t max = at->level->max[kind], kept = at->level->kept[kind];
        int64_t used = add(at, kind, n);

        if (used <= max - kept || max == 0 || used - held - n <= kept)
            continue;
        give_below(b, at->parent, kind, n);
        return refuse(at, kind);
    }
    return NULL;
}

bool budget_take(struct budget *b, enum budget_kind kind, int64_t n)
{
    return budget_try(b, kind, n) == NULL;
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
    return atomic_load_explicit(&b->used[kind], memory_order_acquire);
}

struct budget *budget_exhausted(struct budget *b, enum budget_kind kind)
{
    for (; b != NULL; b = b->parent) {
        int64_t max = b->level->max[kind];

        if (max != 0 && budget_used(b, kind) > max - b->level->kept[kind])
            return refuse(b, kind);
    }
    return NULL;
}

void budgets_init(struct budgets *ret)
{
    *ret = (struct budgets){ .service_level = { .name = "service" },
                             .tenant_level = { .name = "tenant" },
                             .key_level = { .name = "key" },
                             .open_level = { .name = "open" },
                             .address_level = { .name = "address" } };
    budget_init(&ret->service, &ret->service_level, NULL);
    budget_init(&ret->open, &ret->open_level, &ret->service);
}

struct budget_level *budgets_level(struct budgets *budgets, size_t i)
{
    struct budget_level *const levels[] = { &budgets->service_level, &budgets->tenant_level,
                                            &budgets->key_level, &budgets->open_level,
                                            &budgets->address_level };

    return i < COUNT_OF(levels) ? levels[i] : NULL;
}

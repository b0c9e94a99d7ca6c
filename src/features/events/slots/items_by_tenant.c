/* items_by_tenant.c - splits the items of a transaction by tenant. */
#include "features/events/slots/items_by_tenant.h"

#include <stdlib.h>

static int compare_places(const void *a, const void *b)
{
    const struct event_item *x = *(struct event_item *const *)a,
                            *y = *(struct event_item *const *)b;

    if (x->tenant_id != y->tenant_id)
        return x->tenant_id < y->tenant_id ? -1 : 1;
    return (x > y) - (x < y);
}

int items_by_tenant(struct event_item *items, size_t n, struct arena *arena, items_fn *fn,
                    void *ctx, struct error *err)
{
    struct event_item **places = ARENA_ARRAY(arena, struct event_item *, n);
    struct event_item *own = ARENA_ARRAY(arena, struct event_item, n);

    for (size_t i = 0; i < n; i++)
        places[i] = &items[i];
    qsort((void *)places, n, sizeof(struct event_item *), compare_places);
    for (size_t i = 0; i < n; i++)
        own[i] = *places[i];
    for (size_t first = 0, end = 0; first < n; first = end) {
        while (end < n && own[end].tenant_id == own[first].tenant_id)
            end++;
        if (fn(ctx, own + first, end - first, err) != 0)
            return -1;
    }
    for (size_t i = 0; i < n; i++)
        *places[i] = own[i];
    return 0;
}

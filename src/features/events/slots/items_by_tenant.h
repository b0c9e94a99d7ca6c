/* items_by_tenant.h - for databases whose statements are for one tenant each. */
#pragma once
#include "features/events/event_log.h"

typedef int items_fn(void *ctx, struct event_item *items, size_t n, struct error *err);

/* Passes the items on tenant by tenant, each tenant's in their order, and copies what is set in
 * them back. Tenants come in the order of their numbers: so all writers take their locks. */
int items_by_tenant(struct event_item *items, size_t n, struct arena *arena, items_fn *fn,
                    void *ctx, struct error *err);

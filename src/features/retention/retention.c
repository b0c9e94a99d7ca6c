/* retention.c - a tenant's retention limits. */
#include "features/retention/retention.h"

#include "base/clock.h"
#include "features/access/retention_store.h"

int retention_show(struct db *db, int64_t tenant_id, struct retention_limits *ret,
                   struct error *err)
{
    return store_retention(db, tenant_id, ret, err);
}

int retention_set(struct db *db, int64_t tenant_id, const struct retention_limits *limits,
                  struct error *err)
{
    return store_retention_set(db, tenant_id, limits, clock_wall_us(), err);
}

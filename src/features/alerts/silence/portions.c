/* portions.c - ranges of agents, one after another. */
#include "features/alerts/silence/portions.h"

#include <assert.h>

void portions_rewind(struct portions *p)
{
    p->tenant_id = p->after_agent = 0;
}

bool portions_is_first(const struct portions *p)
{
    return p->tenant_id == 0;
}

bool portions_is_whole(const struct agent_range *range)
{
    return range->first_tenant == 0 && range->last_tenant == INT64_MAX;
}

int portions_next(const struct portions *p, struct db *db, struct agent_range *ret,
                  struct error *err)
{
    const struct silent_agent after = { p->tenant_id, p->after_agent };
    int64_t end = p->tenant_id; /* the tenant that does not fit as a whole */

    assert(p->size > 0);
    if (p->after_agent == 0 && store_silence_tenant(db, p->tenant_id, p->size, &end, err) != 0)
        return -1;
    if (end == INT64_MAX || end > p->tenant_id) {
        *ret = (struct agent_range){ p->tenant_id, end == INT64_MAX ? end : end - 1, 0, INT64_MAX };
        return 0;
    }
    *ret = (struct agent_range){ end, end, p->after_agent, INT64_MAX };
    return store_silence_nth(db, &after, p->size, &ret->last_agent, err);
}

void portions_pass(struct portions *p, const struct agent_range *range)
{
    if (range->last_tenant == INT64_MAX)
        portions_rewind(p);
    else if (range->last_agent == INT64_MAX)
        *p = (struct portions){ p->size, range->last_tenant + 1, 0 };
    else
        *p = (struct portions){ p->size, range->last_tenant, range->last_agent };
}

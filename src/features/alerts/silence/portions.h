/* portions.h - all agents of all tenants, in portions that one statement may look at.
 *
 * A portion is of whole tenants; a tenant with more agents than fit in one has
 * portions of its own.
 *
 * One thread at a time.
 */
#pragma once
#include <stdbool.h>

#include "features/alerts/silence/silence_store.h"

struct portions {
    int64_t size;        /* the most agents of one */
    int64_t tenant_id;   /* with which the next one begins; 0: it is the first one */
    int64_t after_agent; /* of that tenant, those up to it were in the one before */
};

/* The next is the first one again. */
void portions_rewind(struct portions *p);
bool portions_is_first(const struct portions *p);

/* The next one. The same again, until it was passed. */
int portions_next(const struct portions *p, struct db *db, struct agent_range *ret,
                  struct error *err) MUST_CHECK;

/* The next is the one after this; after the last one it is the first. */
void portions_pass(struct portions *p, const struct agent_range *range);

/* Is it the first one and the last? */
bool portions_is_whole(const struct agent_range *range);

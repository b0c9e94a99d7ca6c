/* registry_entry.c - what is known of a tenant or a key that was found, without the registry. */
#include <assert.h>

#include "features/access/registry.h"

bool key_is_good(const struct key_entry *key, int64_t now_us)
{
    int64_t grace_until;

    if (atomic_load(&key->revoked) || atomic_load(&key->expires_at) <= now_us)
        return false;
    grace_until = atomic_load(&key->grace_until);
    return grace_until == INT64_MAX || clock_mono_us() < grace_until;
}

void key_unhold(void *use)
{
    int64_t before =
        atomic_fetch_sub_explicit(&((struct key_use *)use)->holds, 1, memory_order_release);

    assert(before > 0);
    (void)before;
}

bool tenant_is_over_quota(const struct tenant_entry *tenant)
{
    const int64_t max = atomic_load(&tenant->max_bytes);

    return max > 0 && atomic_load(&tenant->stored_bytes) >= max;
}

/* Entries are const to those who find them; what is counted there is not. */
static struct budget *to_count(const struct budget *b)
{
    const union {
        const struct budget *found;
        struct budget *counted;
    } node = { .found = b };

    return node.counted;
}

struct budget *key_budget(const struct key_entry *key)
{
    return to_count(&key->budget);
}

struct budget *tenant_budget(const struct tenant_entry *tenant)
{
    return to_count(&tenant->budget);
}

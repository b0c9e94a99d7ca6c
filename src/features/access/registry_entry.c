/* registry_entry.c - what is known of tenants and keys that were found. */
#include <assert.h>

#include "features/access/rate.h"
#include "features/access/registry_state.h"
#include "features/access/tenants.h"

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

void tenant_load(struct tenant_entry *tenant, const struct tenant_row *row)
{
    atomic_store(&tenant->max_agents, row->max_agents);
    atomic_store(&tenant->rate_limit, row->rate_limit);
    atomic_store(&tenant->max_bytes, row->max_bytes);
    atomic_store(&tenant->stored_bytes, row->stored_bytes);
    atomic_store(&tenant->run_failed, row->run_failed);
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
    assert(key->use != NULL); /* it is held */
    return to_count(&key->use->budget);
}

struct budget *tenant_budget(const struct tenant_entry *tenant)
{
    return to_count(&tenant->budget);
}

struct largest {
    enum budget_kind kind;
    int64_t used;
};

static void note_use(void *ctx, const struct tenant_entry *tenant)
{
    struct largest *largest = ctx;
    const int64_t used = budget_used(&tenant->budget, largest->kind);

    if (used > largest->used)
        largest->used = used;
}

int64_t registry_largest_use(struct registry *r, enum budget_kind kind)
{
    struct largest largest = { kind, 0 };

    registry_each_tenant(r, note_use, &largest);
    return largest.used;
}

void registry_add_stored(struct registry *r, int64_t tenant_id, int64_t bytes)
{
    struct tenant_entry *tenant = registry_tenant_by_id(r, tenant_id);

    if (tenant != NULL)
        atomic_fetch_add(&tenant->stored_bytes, bytes);
}

void registry_set_stored(struct registry *r, int64_t tenant_id, int64_t bytes)
{
    struct tenant_entry *tenant = registry_tenant_by_id(r, tenant_id);

    if (tenant != NULL)
        atomic_store(&tenant->stored_bytes, bytes);
}

static void count_over_quota(void *ctx, const struct tenant_entry *tenant)
{
    *(int64_t *)ctx += tenant_is_over_quota(tenant);
}

int64_t registry_over_quota(struct registry *r)
{
    int64_t n = 0;

    registry_each_tenant(r, count_over_quota, &n);
    return n;
}

static struct rate_window *line_rate(struct key_line *line)
{
    struct rate_window *rate = atomic_load_explicit(&line->rate, memory_order_acquire);
    struct rate_window *made;

    if (rate != NULL)
        return rate;
    made = rate_window_new(line->id);
    if (atomic_compare_exchange_strong(&line->rate, &rate, made))
        return made;
    rate_window_free(made); /* another thread was first */
    return rate;
}

struct rate_window *key_rate(const struct key_entry *key)
{
    return line_rate(key->line);
}

bool key_is_idle(const struct key_entry *key)
{
    bool idle;

    if (key->use == NULL)
        return true;
    idle = atomic_load_explicit(&key->use->holds, memory_order_acquire) == 0;
    for (int kind = 0; kind < BUDGET_KINDS; kind++)
        idle &= budget_used(&key->use->budget, (enum budget_kind)kind) == 0;
    return idle;
}

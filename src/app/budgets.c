/* budgets.c - the limits of bodies, replies, connections and streams, from the settings.
 *
 * Those of the queues are in engine/engine.c (limit_shares()), that of exports is in
 * features/export/feature.c.
 *
 * A setting gives what the service may hold. Parts of that are for single tenants and keys, for
 * callers without a key, and for small takes. docs/OPERATIONS.md has them all.
 */
#include "api/api.h"
#include "app/assemble.h"
#include "cli/settings.h"

/* Of callers without a key: sign-in and set-up bodies are small, pages mostly static. */
enum {
    OPEN_BODIES = 1 << 20,
    OPEN_BODIES_PER_ADDRESS = 64 * 1024,
    OPEN_REPLIES = 16 << 20,
    OPEN_REPLIES_PER_ADDRESS = 4 << 20,
};

enum { TENANT_BODIES_LEAST = 8 << 20 }; /* or all, where there are fewer: a batch must fit */

/* Of all callers: whose they are is known only when they are read. */
enum { PIPELINED = 16 << 20, PIPELINED_PER_ADDRESS = 1 << 20 };

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* One key leaves a quarter of its tenant's share to the others. */
static int64_t key_share(int64_t of_tenant)
{
    return of_tenant - of_tenant / 4;
}

/* Large bodies leave a quarter of each level to small ones, and may use more of it only alone. */
static void set_bodies(const struct settings *settings, struct budgets *b)
{
    const enum budget_kind kind = BUDGET_BODY_BYTES;
    const int64_t all = settings->inflight_max_bytes;
    const int64_t tenant = smaller(all, larger(all / 3, TENANT_BODIES_LEAST));
    struct budget_level *level;

    b->service_level.max[kind] = all;
    b->tenant_level.max[kind] = tenant;
    b->key_level.max[kind] = key_share(tenant);
    for (size_t i = 0; (level = budgets_level(b, i)) != NULL; i++)
        level->kept[kind] = level->max[kind] / 4;
    b->open_level.max[kind] = OPEN_BODIES;
    b->address_level.max[kind] = OPEN_BODIES_PER_ADDRESS;
}

/* A read begins only when there is room for the largest reply, and that must fit everywhere. */
static void set_replies(const struct settings *settings, struct budgets *b)
{
    const enum budget_kind kind = BUDGET_REPLY_BYTES;
    int64_t tenant = settings->reply_max_bytes / 2;

    b->service_level.max[kind] = larger(settings->reply_max_bytes, API_REPLY_MAX);
    b->tenant_level.max[kind] = larger(tenant, API_REPLY_MAX);
    b->key_level.max[kind] = larger(key_share(tenant), API_REPLY_MAX);
    b->service_level.kept[kind] = b->tenant_level.kept[kind] = b->key_level.kept[kind] =
        API_REPLY_MAX;
    b->open_level.max[kind] = OPEN_REPLIES;
    b->address_level.max[kind] = OPEN_REPLIES_PER_ADDRESS;
}

static void set_connections(const struct settings *settings, struct budgets *b)
{
    b->service_level.max[BUDGET_CONNECTIONS] = settings->max_connections;
    b->address_level.max[BUDGET_CONNECTIONS] = settings->max_connections_per_address;
    b->open_level.max[BUDGET_PIPELINED] = PIPELINED;
    b->address_level.max[BUDGET_PIPELINED] = PIPELINED_PER_ADDRESS;
}

/* A setting of 0 means none at all. */
static void set_streams(const struct settings *settings, struct budgets *b)
{
    int64_t all = settings->max_live_streams;

    b->service_level.max[BUDGET_STREAMS] = all == 0 ? -1 : all;
    b->tenant_level.max[BUDGET_STREAMS] = all == 0 ? -1 : larger(all / 4, 1);
}

void budgets_read(const struct settings *settings, struct budgets *ret)
{
    budgets_init(ret);
    set_bodies(settings, ret);
    set_replies(settings, ret);
    set_connections(settings, ret);
    set_streams(settings, ret);
}

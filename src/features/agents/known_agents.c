/* known_agents.c - remembers agents by tenant and name, and decides which make room. */
#include "features/agents/known_agents.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

enum {
    IDLE_S = 600, /* without a report: makes room for those that report */
    TOP = 3,      /* first places of `tenants`, which have the two largest, and perhaps the third */
    TRIES = 4,    /* to find an idle agent at each of them, and at as many places by chance */
};

struct known_tenant {
    int64_t id;
    struct known_agent **agents; /* in no order */
    size_t n, capacity;
    size_t place; /* in `tenants` of struct known_agents */
};

static struct str id_str(const int64_t *id)
{
    return str_from((const char *)id, sizeof(*id));
}

static struct str key_of(const struct known_agent *agent)
{
    return str_from(agent->key, agent->key_len);
}

void known_agents_init(struct known_agents *k, size_t max)
{
    *k = (struct known_agents){ .max = max, .random = 1 };
    map_init(&k->agents);
    map_init(&k->by_id);
}

static void place_tenant(struct known_agents *k, struct known_tenant *tenant, size_t place)
{
    k->tenants[place] = tenant;
    tenant->place = place;
}

/* The tenant has an agent more. */
static void move_up(struct known_agents *k, struct known_tenant *tenant)
{
    size_t place = tenant->place;

    while (place > 0 && k->tenants[(place - 1) / 2]->n < tenant->n) {
        place_tenant(k, k->tenants[(place - 1) / 2], place);
        place = (place - 1) / 2;
    }
    place_tenant(k, tenant, place);
}

/* The tenant has an agent less. */
static void move_down(struct known_agents *k, struct known_tenant *tenant)
{
    size_t place = tenant->place, child;

    while ((child = 2 * place + 1) < k->n_tenants) {
        if (child + 1 < k->n_tenants && k->tenants[child + 1]->n > k->tenants[child]->n)
            child++;
        if (k->tenants[child]->n <= tenant->n)
            break;
        place_tenant(k, k->tenants[child], place);
        place = child;
    }
    place_tenant(k, tenant, place);
}

static struct known_tenant *tenant_of(struct known_agents *k, struct str key)
{
    struct known_tenant *tenant;
    int64_t id;

    assert(key.len >= sizeof(id));
    memcpy(&id, key.data, sizeof(id));
    tenant = map_get(&k->by_id, id_str(&id));
    if (tenant != NULL)
        return tenant;
    tenant = NEW(struct known_tenant);
    tenant->id = id;
    (void)map_put(&k->by_id, id_str(&tenant->id), tenant);
    k->tenants = (struct known_tenant **)mem_grow(
        (void *)k->tenants, k->n_tenants, &k->tenants_capacity, sizeof(struct known_tenant *));
    place_tenant(k, tenant, k->n_tenants++);
    return tenant;
}

/* It has no agent, so it is at the end of a branch. */
static void remove_tenant(struct known_agents *k, struct known_tenant *tenant)
{
    struct known_tenant *last = k->tenants[--k->n_tenants];

    assert(tenant->n == 0);
    if (last != tenant) {
        place_tenant(k, last, tenant->place);
        move_up(k, last);
    }
    (void)map_remove(&k->by_id, id_str(&tenant->id));
    free((void *)tenant->agents);
    free(tenant);
}

static void forget(struct known_agents *k, struct known_agent *agent)
{
    struct known_tenant *tenant = agent->tenant;
    struct known_agent *last = tenant->agents[--tenant->n];

    tenant->agents[agent->place] = last;
    last->place = agent->place;
    move_down(k, tenant);
    if (tenant->n == 0)
        remove_tenant(k, tenant);
    (void)map_remove(&k->agents, key_of(agent));
    free(agent);
}

/* With its digest a long name is longer than any that stands there whole: they are never equal. */
struct str known_agents_key(int64_t tenant_id, struct str agent_name, struct known_agent_key *room)
{
    const bool is_long = agent_name.len > KNOWN_NAME_MAX;
    size_t len = is_long ? KNOWN_NAME_BEGINNING : agent_name.len;
    char *name = room->bytes + sizeof(tenant_id);
    struct sha256 digest;

    memcpy(room->bytes, &tenant_id, sizeof(tenant_id));
    if (len > 0)
        memcpy(name, agent_name.data, len);
    if (is_long) {
        digest = digest_sha256(agent_name);
        memcpy(name + len, digest.bytes, sizeof(digest.bytes));
        len += sizeof(digest.bytes);
    }
    return str_from(room->bytes, sizeof(tenant_id) + len);
}

struct known_agent *known_agents_find(const struct known_agents *k, struct str key)
{
    return map_get(&k->agents, key);
}

struct known_agent *known_agents_put(struct known_agents *k, struct str key)
{
    struct known_agent *agent = map_get(&k->agents, key);
    struct known_tenant *tenant;

    assert(key.len <= sizeof(struct known_agent_key));
    if (agent == NULL) {
        tenant = tenant_of(k, key);
        agent = mem_new(sizeof(*agent) + key.len);
        *agent = (struct known_agent){ .key_len = (uint32_t)key.len, .tenant = tenant };
        memcpy(agent->key, key.data, key.len);
        tenant->agents = (struct known_agent **)mem_grow(
            (void *)tenant->agents, tenant->n, &tenant->capacity, sizeof(struct known_agent *));
        agent->place = tenant->n++;
        tenant->agents[agent->place] = agent;
        move_up(k, tenant);
        (void)map_put(&k->agents, key_of(agent), agent);
    }
    known_agents_note_recent(k, agent);
    return agent;
}

void known_agents_remove(struct known_agents *k, struct str key)
{
    struct known_agent *agent = map_get(&k->agents, key);
    size_t i = 0;

    if (agent == NULL)
        return;
    if (agent->recent) {
        while (k->recent[i] != agent)
            i++;
        k->recent[i] = k->recent[--k->n_recent];
    }
    forget(k, agent);
}

void known_agents_note_recent(struct known_agents *k, struct known_agent *agent)
{
    if (agent->recent)
        return;
    agent->recent = true;
    k->recent = (struct known_agent **)mem_grow((void *)k->recent, k->n_recent, &k->recent_capacity,
                                                sizeof(struct known_agent *));
    k->recent[k->n_recent++] = agent;
}

void known_agents_keep_recent(struct known_agents *k)
{
    for (size_t i = 0; i < k->n_recent; i++)
        k->recent[i]->recent = false;
    k->n_recent = 0;
}

void known_agents_forget_recent(struct known_agents *k)
{
    for (size_t i = 0; i < k->n_recent; i++)
        forget(k, k->recent[i]);
    k->n_recent = 0;
}

/* Below `n`. Nothing depends on it that a caller could gain by. */
static size_t random_below(struct known_agents *k, size_t n)
{
    k->random = k->random * 6364136223846793005U + 1442695040888963407U;
    return (size_t)((k->random >> 32) % n);
}

static struct known_agent *random_of(struct known_agents *k, const struct known_tenant *tenant)
{
    return tenant->agents[random_below(k, tenant->n)];
}

/* An idle agent of the tenant that has the most, among the largest two, another and some that
 * chance names: idle agents of a large tenant take more room than those of small ones. */
static struct known_agent *choose(struct known_agents *k, int64_t idle_since)
{
    struct known_agent *best = NULL;

    for (size_t i = 0; i / TRIES <= TOP; i++) {
        const size_t place = i / TRIES < TOP ? i / TRIES : random_below(k, k->n_tenants);
        struct known_agent *agent = place < k->n_tenants ? random_of(k, k->tenants[place]) : NULL;

        if (agent == NULL || agent->last_seen_at >= idle_since)
            continue;
        if (best == NULL || agent->tenant->n > best->tenant->n)
            best = agent;
        if (place == 0)
            break;
    }
    return best != NULL ? best : random_of(k, k->tenants[0]);
}

void known_agents_trim(struct known_agents *k, int64_t now_us)
{
    assert(k->n_recent == 0);
    while (k->agents.n > k->max)
        forget(k, choose(k, now_us - (int64_t)IDLE_S * USEC_PER_SEC));
}

void known_agents_forget_all(struct known_agents *k)
{
    for (size_t t = 0; t < k->n_tenants; t++) {
        struct known_tenant *tenant = k->tenants[t];

        for (size_t i = 0; i < tenant->n; i++)
            free(tenant->agents[i]);
        free((void *)tenant->agents);
        free(tenant);
    }
    map_done(&k->agents);
    map_done(&k->by_id);
    k->n_tenants = k->n_recent = 0;
}

void known_agents_done(struct known_agents *k)
{
    known_agents_forget_all(k);
    free((void *)k->tenants);
    free((void *)k->recent);
}

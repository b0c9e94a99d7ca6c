/* admit.c - finding, registering and remembering agents. */
#include "service/admit.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "service/registry.h"
#include "store/agents.h"

enum { AGENTS_MAX = 100000 }; /* remembered at most */

/* Its key in the map stands behind it. */
struct known_agent {
    struct agent_row row;
    char key[];
};

struct admit {
    const struct registry *registry;
    int64_t registry_number; /* that `agents` is good for */
    struct map agents;
    struct buf key; /* of the agent being looked up */
};

struct admit *admit_new(const struct registry *registry)
{
    struct admit *a = NEW(struct admit);

    a->registry = registry;
    map_init(&a->agents);
    buf_init(&a->key, MIB(1));
    return a;
}

void admit_forget(struct admit *a)
{
    struct known_agent *agent;
    size_t at = 0;

    while ((agent = map_next(&a->agents, &at)) != NULL)
        free(agent);
    map_done(&a->agents);
}

void admit_free(struct admit *a)
{
    if (a == NULL)
        return;
    admit_forget(a);
    buf_done(&a->key);
    free(a);
}

static void remember(struct admit *a, const struct agent_row *row)
{
    struct str key = buf_str(&a->key);
    struct known_agent *agent = mem_new(sizeof(*agent) + key.len);

    agent->row = *row;
    memcpy(agent->key, key.data, key.len);
    free(map_put(&a->agents, str_from(agent->key, key.len), agent));
}

static int find_or_add(struct db *db, int64_t tenant_id, struct str agent_name,
                       struct agent_row *ret, struct error *err)
{
    if (store_agent_find(db, tenant_id, agent_name, ret, err) != 0)
        return -1;
    if (ret->agent_id != 0)
        return 0;
    return store_agent_add(db, tenant_id, agent_name, clock_wall_us(), ret, err);
}

int admit_agent(struct admit *a, struct db *db, int64_t tenant_id, struct str agent_name,
                struct admission *ret, struct error *err)
{
    int64_t number = registry_number(a->registry);
    const struct known_agent *known;
    struct agent_row row;

    if (number != a->registry_number || a->agents.n > AGENTS_MAX)
        admit_forget(a);
    a->registry_number = number;
    buf_clear(&a->key);
    buf_add(&a->key, str_from((const char *)&tenant_id, sizeof(tenant_id)));
    buf_add(&a->key, agent_name);
    known = map_get(&a->agents, buf_str(&a->key));
    if (known != NULL) {
        row = known->row;
    } else {
        if (find_or_add(db, tenant_id, agent_name, &row, err) != 0)
            return -1;
        if (row.agent_id != 0)
            remember(a, &row);
    }
    ret->agent_id = row.agent_id;
    if (row.agent_id == 0)
        ret->verdict = VERDICT_AGENT_CAP;
    else
        ret->verdict = row.enabled ? VERDICT_ACCEPTED : VERDICT_AGENT_DISABLED;
    return 0;
}

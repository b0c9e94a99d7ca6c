/* admit.c - finding, registering and remembering agents. */
#include "features/agents/admit.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "engine/txn.h"
#include "features/access/registry.h"
#include "features/agents/last_seen.h"
#include "features/agents/last_seen_store.h"
#include "features/agents/store.h"
#include "shape/shape.h"

enum { AGENTS_MAX = 100000 }; /* cached at most */

/* A cached agent, with its key in the map. */
struct known_agent {
    struct agent_row row;
    struct last_seen_entry *entry;
    char key[];
};

struct admit {
    const struct registry *registry;
    struct last_seen *last_seen;
    int64_t registry_number; /* registry version for which `agents` is valid */
    struct map agents;
    struct buf key; /* of the agent being looked up */
};

struct admit *admit_new(const struct registry *registry, struct last_seen *last_seen)
{
    struct admit *a = NEW(struct admit);

    a->registry = registry;
    a->last_seen = last_seen;
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

void admit_changed(struct admit *a)
{
    last_seen_set_changed(a->last_seen);
}

void admit_free(struct admit *a)
{
    if (a == NULL)
        return;
    admit_forget(a);
    buf_done(&a->key);
    free(a);
}

static struct known_agent *remember(struct admit *a, int64_t tenant_id, const struct agent_row *row)
{
    struct str key = buf_str(&a->key);
    struct known_agent *agent = mem_new(sizeof(*agent) + key.len);

    agent->row = *row;
    agent->entry = last_seen_get(a->last_seen, tenant_id, row->agent_id);
    last_seen_set_enabled(agent->entry, row->enabled);
    memcpy(agent->key, key.data, key.len);
    free(map_put(&a->agents, str_from(agent->key, key.len), agent));
    return agent;
}

/* Finds the agent, or adds it when `may_add`; *ret is NULL when it is unknown or the cap is
 * reached. */
static int find_or_add(struct admit *a, struct db *db, const struct applicant *agent, bool may_add,
                       struct known_agent **ret, struct error *err)
{
    int64_t number = registry_number(a->registry);
    struct agent_row row;

    if (number != a->registry_number || a->agents.n > AGENTS_MAX)
        admit_forget(a);
    a->registry_number = number;
    buf_clear(&a->key);
    buf_add(&a->key, str_from((const char *)&agent->tenant_id, sizeof(agent->tenant_id)));
    buf_add(&a->key, agent->agent_name);
    *ret = map_get(&a->agents, buf_str(&a->key));
    if (*ret != NULL)
        return 0;
    if (store_agent_find(db, agent->tenant_id, agent->agent_name, &row, err) != 0)
        return -1;
    if (row.agent_id == 0 && may_add &&
        store_agent_add(db, agent->tenant_id, agent->agent_name, agent->at, &row, err) != 0)
        return -1;
    if (row.agent_id != 0)
        *ret = remember(a, agent->tenant_id, &row);
    return 0;
}

/* An agent's first sighting is stored at once, since an agent that was never seen cannot fall
 * silent. So is the one that ends a silence, together with the closing of the alert. If the
 * transaction is rolled back, or another process has locked the row, the next save stores it. */
static int note_seen(struct txn *txn, struct known_agent *known, const struct applicant *agent,
                     struct error *err)
{
    struct last_seen *last_seen = txn->admit->last_seen;
    struct sighting sighting = { .tenant_id = agent->tenant_id,
                                 .agent_id = known->row.agent_id,
                                 .at = agent->at };

    if ((known->row.last_seen_at == TIME_NULL || last_seen_take_awaited(known->entry)) &&
        (store_last_seen_put(txn->db, &sighting, 1, clock_wall_us(), err) != 0 ||
         last_seen_stored(last_seen, txn, &sighting, 1, err) != 0))
        return -1;
    known->row.last_seen_at = agent->at;
    last_seen_note(last_seen, known->entry, agent->at);
    return 0;
}

int admit_agent(struct txn *txn, const struct applicant *agent, struct admission *ret,
                struct error *err)
{
    struct known_agent *known;

    if (find_or_add(txn->admit, txn->db, agent, true, &known, err) != 0)
        return -1;
    *ret = (struct admission){ .verdict = VERDICT_AGENT_CAP };
    if (known == NULL)
        return 0;
    ret->agent_id = known->row.agent_id;
    ret->verdict = last_seen_is_enabled(known->entry) ? VERDICT_ACCEPTED : VERDICT_AGENT_DISABLED;
    return note_seen(txn, known, agent, err);
}

int admit_sighting(struct txn *txn, const struct applicant *agent, struct error *err)
{
    struct known_agent *known;

    if (find_or_add(txn->admit, txn->db, agent, false, &known, err) != 0)
        return -1;
    return known == NULL ? 0 : note_seen(txn, known, agent, err);
}

/* admit.c - finding, registering and remembering agents. */
#include "features/agents/admit.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "db/postgres/array.h"
#include "engine/txn.h"
#include "features/agents/known_agents.h"
#include "features/agents/last_seen.h"
#include "features/agents/last_seen_store.h"
#include "features/agents/store.h"
#include "shape/shape.h"

enum { AGENTS_MAX = 400000 }; /* remembered at most */

/* An agent that the transaction has enabled, disabled or deleted. */
struct changed_agent {
    int64_t tenant_id, agent_id;
};

struct admit {
    struct last_seen *last_seen;
    struct known_agents agents;
    int64_t session;       /* db_session() for which they are valid, as is */
    int64_t all_no;        /* of_all of last_seen_changes(), when the transaction began */
    int64_t read_no;       /* n of the same */
    bool checked;          /* in this transaction, whether they still are */
    bool interval_changed; /* in this transaction, of an agent */

    struct known_agent_key key_room;
    struct str key; /* of the agent being looked up, in it */

    struct changed_agent *changed;
    size_t n_changed, changed_capacity;

    /* Announced and not in `agents`; names are borrowed from the jobs. */
    struct agent_seek *expected;
    size_t n_expected, capacity;
    struct map expected_keys; /* of all announced: each once */
    struct arena arena;       /* of the transaction */

    /* Tenants whose cap this transaction found reached. Their rows are locked until it ends, so
     * they stay so, and names that were announced and are not known stay unknown. */
    int64_t *full;
    size_t n_full, full_capacity;
};

struct admit *admit_new(struct last_seen *last_seen)
{
    struct admit *a = NEW(struct admit);

    a->last_seen = last_seen;
    known_agents_init(&a->agents, AGENTS_MAX);
    map_init(&a->expected_keys);
    arena_init(&a->arena);
    return a;
}

/* The transaction has ended: nothing is announced any more. */
static void end_txn(struct admit *a)
{
    a->n_full = a->n_changed = 0;
    a->checked = a->interval_changed = false;
    if (a->expected_keys.n == 0)
        return;
    a->n_expected = 0;
    map_done(&a->expected_keys);
    arena_reset(&a->arena);
}

void admit_committed(struct admit *a)
{
    known_agents_keep_recent(&a->agents);
    for (size_t i = 0; i < a->n_changed; i++)
        last_seen_agent_changed(a->last_seen, a->changed[i].tenant_id, a->changed[i].agent_id);
    if (a->interval_changed)
        last_seen_set_changed(a->last_seen);
    end_txn(a);
}

void admit_rolled_back(struct admit *a)
{
    known_agents_forget_recent(&a->agents);
    end_txn(a);
}

void admit_agent_changed(struct admit *a, int64_t tenant_id, int64_t agent_id)
{
    a->changed = mem_grow(a->changed, a->n_changed, &a->changed_capacity, sizeof(*a->changed));
    a->changed[a->n_changed++] = (struct changed_agent){ tenant_id, agent_id };
}

void admit_interval_changed(struct admit *a)
{
    a->interval_changed = true;
}

void admit_free(struct admit *a)
{
    if (a == NULL)
        return;
    known_agents_done(&a->agents);
    map_done(&a->expected_keys);
    arena_done(&a->arena);
    free(a->expected);
    free(a->full);
    free(a->changed);
    free(a);
}

/* The agent that a->key names. */
static struct known_agent *remember(struct admit *a, int64_t tenant_id, const struct agent_row *row)
{
    struct known_agent *agent = known_agents_put(&a->agents, a->key);

    assert(a->checked && row->agent_id != 0);
    agent->agent_id = row->agent_id;
    agent->last_seen_at = row->last_seen_at;
    agent->read_no = a->read_no;
    agent->added = false;
    agent->entry = last_seen_get(a->last_seen, tenant_id, row->agent_id);
    last_seen_set_enabled(agent->entry, row->enabled, a->read_no);
    return agent;
}

/* Once for each transaction, before anything is announced or found: all its jobs came before it
 * began, and what they announced must not be forgotten halfway. After another connection nothing
 * holds: a standby that has become the primary may not have what was found. */
static void check_cache(struct admit *a, const struct db *db)
{
    struct agent_changes changes;
    int64_t session;

    if (a->checked)
        return;
    session = db_session(db);
    changes = last_seen_changes(a->last_seen);
    if (session != a->session || changes.of_all != a->all_no)
        known_agents_forget_all(&a->agents);
    else
        known_agents_trim(&a->agents, clock_wall_us());
    a->session = session;
    a->all_no = changes.of_all;
    a->read_no = changes.n;
    a->checked = true;
}

/* The agent if it is in the cache and has not changed since; its key stays in a->key. */
static struct known_agent *look_up(const struct txn *txn, int64_t tenant_id, struct str agent_name)
{
    struct admit *a = txn->admit;
    struct known_agent *agent;

    check_cache(a, txn->db);
    a->key = known_agents_key(tenant_id, agent_name, &a->key_room);
    agent = known_agents_find(&a->agents, a->key);
    return agent != NULL && last_seen_holds(agent->entry, agent->read_no) ? agent : NULL;
}

void admit_expect(struct txn *txn, const struct applicant *agent, bool seen)
{
    struct admit *a = txn->admit;
    struct str key;

    if (a == NULL || !pg_arrays_suit(txn->db) ||
        look_up(txn, agent->tenant_id, agent->agent_name) != NULL ||
        map_get(&a->expected_keys, a->key) != NULL)
        return;
    a->expected = mem_grow(a->expected, a->n_expected, &a->capacity, sizeof(*a->expected));
    key = arena_copy(&a->arena, a->key);
    (void)map_put(&a->expected_keys, key, a);
    a->expected[a->n_expected++] = (struct agent_seek){ .tenant_id = agent->tenant_id,
                                                        .agent_name = agent->agent_name,
                                                        .at = agent->at,
                                                        .seen = seen };
}

/* Moves those that were found or added to the cache, and keeps the others. */
static void remember_found(const struct txn *txn, bool added)
{
    struct admit *a = txn->admit;
    const size_t n = a->n_expected;

    a->n_expected = 0;
    for (size_t i = 0; i < n; i++) {
        const struct agent_seek seek = a->expected[i];
        struct known_agent *known;

        if (seek.row.agent_id == 0) {
            a->expected[a->n_expected++] = seek;
            continue;
        }
        (void)look_up(txn, seek.tenant_id, seek.agent_name); /* makes the key */
        known = remember(a, seek.tenant_id, &seek.row);
        known->added = added;
        if (added && seek.seen)
            last_seen_set_stored(known->entry, seek.at);
    }
}

/* Those that are left are not in the store: what was remembered of them is of before. */
static void forget_rest(const struct txn *txn)
{
    struct admit *a = txn->admit;

    for (size_t i = 0; i < a->n_expected; i++) {
        (void)look_up(txn, a->expected[i].tenant_id, a->expected[i].agent_name); /* makes the key */
        known_agents_remove(&a->agents, a->key);
    }
    a->n_expected = 0;
}

int admit_expected(struct txn *txn, struct error *err)
{
    struct admit *a = txn->admit;
    struct db *db = txn->db;

    if (a == NULL || a->n_expected == 0)
        return 0;
    metric_add(METRIC_AGENT_LOOKUPS, a->n_expected);
    if (store_agents_find(db, a->expected, a->n_expected, &a->arena, err) != 0)
        return -1;
    remember_found(txn, false);
    if (a->n_expected > 0 && store_agents_add(db, a->expected, a->n_expected, &a->arena, err) != 0)
        return -1;
    remember_found(txn, true);
    if (a->n_expected > 0 && store_agents_find(db, a->expected, a->n_expected, &a->arena, err) != 0)
        return -1;
    remember_found(txn, false); /* others added these before the tenants' rows were locked */
    forget_rest(txn);
    return 0;
}

static bool is_full(const struct admit *a, int64_t tenant_id)
{
    size_t i = 0;

    while (i < a->n_full && a->full[i] != tenant_id)
        i++;
    return i < a->n_full;
}

static void note_full(struct admit *a, int64_t tenant_id)
{
    a->full = mem_grow(a->full, a->n_full, &a->full_capacity, sizeof(*a->full));
    a->full[a->n_full++] = tenant_id;
}

bool admit_added(struct txn *txn, const struct applicant *agent, struct agent_row *ret)
{
    struct known_agent *known =
        txn->admit == NULL ? NULL : look_up(txn, agent->tenant_id, agent->agent_name);

    if (known == NULL || !known->added)
        return false;
    known->added = false;
    *ret = (struct agent_row){ .agent_id = known->agent_id,
                               .enabled = true,
                               .last_seen_at = known->last_seen_at };
    return true;
}

/* Was the agent that a->key names announced, and then not found, so that a full tenant need not be
 * asked again? One that was found and has changed since, which look_up() does not return either,
 * is not unknown. */
static bool is_refused(const struct admit *a, int64_t tenant_id)
{
    return is_full(a, tenant_id) && map_get(&a->expected_keys, a->key) != NULL &&
           known_agents_find(&a->agents, a->key) == NULL;
}

/* Finds the agent, or adds it when `may_add`; *ret is NULL when it is unknown or the cap is
 * reached. */
static int find_or_add(const struct txn *txn, const struct applicant *agent, bool may_add,
                       struct known_agent **ret, struct error *err)
{
    struct admit *a = txn->admit;
    struct db *db = txn->db;
    struct agent_row row;

    *ret = look_up(txn, agent->tenant_id, agent->agent_name);
    if (*ret != NULL || is_refused(a, agent->tenant_id))
        return 0;
    metric_add(METRIC_AGENT_LOOKUPS, 1);
    if (store_agent_find(db, agent->tenant_id, agent->agent_name, &row, err) != 0)
        return -1;
    if (row.agent_id == 0 && may_add &&
        store_agent_add(db, agent->tenant_id, agent->agent_name, agent->at, &row, err) != 0)
        return -1;
    if (row.agent_id != 0)
        *ret = remember(a, agent->tenant_id, &row);
    else
        known_agents_remove(&a->agents, a->key);
    if (row.agent_id == 0 && may_add)
        note_full(a, agent->tenant_id);
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
                                 .agent_id = known->agent_id,
                                 .at = agent->at };

    if (known->last_seen_at == TIME_NULL)
        known_agents_note_recent(&txn->admit->agents, known);
    if ((known->last_seen_at == TIME_NULL || last_seen_take_awaited(known->entry)) &&
        (store_last_seen_put(txn->db, &sighting, 1, clock_wall_us(), err) != 0 ||
         last_seen_stored(last_seen, txn, &sighting, 1, err) != 0))
        return -1;
    known->last_seen_at = agent->at;
    last_seen_note(last_seen, known->entry, agent->at);
    return 0;
}

/* `unknown` is the verdict about an agent that there is no entry of. */
static int admit(struct txn *txn, const struct applicant *agent, enum verdict unknown,
                 struct admission *ret, struct error *err)
{
    const bool may_add = unknown == VERDICT_AGENT_CAP;
    struct known_agent *known;

    if (find_or_add(txn, agent, may_add, &known, err) != 0)
        return -1;
    *ret = (struct admission){ .verdict = unknown };
    if (known == NULL)
        return 0;
    known->added = false;
    ret->agent_id = known->agent_id;
    ret->verdict = last_seen_is_enabled(known->entry) ? VERDICT_ACCEPTED : VERDICT_AGENT_DISABLED;
    return note_seen(txn, known, agent, err);
}

int admit_agent(struct txn *txn, const struct applicant *agent, struct admission *ret,
                struct error *err)
{
    return admit(txn, agent, VERDICT_AGENT_CAP, ret, err);
}

int admit_over_quota(struct txn *txn, const struct applicant *agent, struct admission *ret,
                     struct error *err)
{
    return admit(txn, agent, VERDICT_OVER_QUOTA, ret, err);
}

int admit_sighting(struct txn *txn, const struct applicant *agent, struct error *err)
{
    struct admission ignored;

    return admit_over_quota(txn, agent, &ignored, err);
}

/* admit.c - finding, registering and remembering agents. */
#include "features/agents/admit.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/map.h"
#include "base/mem.h"
#include "db/lists.h"
#include "engine/txn.h"
#include "features/agents/agent_cache.h"
#include "features/agents/agents_store.h"
#include "features/agents/signs_store.h"
#include "features/metrics.h"
#include "shape/shape.h"

const char admit_part[] = "admit";

/* A long name, and it may be as long as a body, stands in a key by its beginning and its digest:
 * the key is then longer than that of any name that stands there whole. */
enum {
    KNOWN_MAX = 1 << 20, /* agents that a writer remembers: beyond it all are forgotten */
    KEY_NAME_MAX = 96,
    KEY_BEGINNING = KEY_NAME_MAX + 1 - SHA256_BYTES,
    KEY_MAX = sizeof(int64_t) + KEY_NAME_MAX + 1,
};

/* An agent that the writer remembers, by tenant and name. */
struct known_agent {
    struct agent_entry *entry;
    int64_t agent_id;
    int64_t read_no; /* n of agent_cache_changes() before it was read */
    bool is_seen;    /* a sighting is stored */
    bool added;      /* because it was announced, and no job has asked for it yet */
    bool recent;     /* a rollback forgets it */
    uint32_t key_len;
    char key[];
};

/* An agent that the transaction has enabled, disabled or deleted. */
struct changed_agent {
    int64_t tenant_id, agent_id;
};

struct admit {
    struct agent_cache *cache;
    struct map known;            /* key -> struct known_agent */
    struct known_agent **recent; /* of this transaction */
    size_t n_recent, recent_capacity;
    int64_t session;        /* db_session() for which they are valid, as is */
    int64_t all_no;         /* of_all of agent_cache_changes(), when the transaction began */
    int64_t read_no;        /* n of the same */
    bool checked;           /* in this transaction, whether they still are */
    bool schedules_changed; /* in this transaction, of an agent */

    char key_room[KEY_MAX];
    struct str key; /* of the agent being looked up, in it */

    struct changed_agent *changed;
    size_t n_changed, changed_capacity;

    /* Announced and not known; names are borrowed from the jobs. */
    struct agent_seek *expected;
    size_t n_expected, capacity;
    struct map expected_keys; /* every announced agent, without duplicates */
    struct arena arena;       /* of the transaction */

    /* Tenants whose cap this transaction found reached. Their rows are locked until it ends, so
     * they stay so, and names that were announced and are not known stay unknown. */
    int64_t *full;
    size_t n_full, full_capacity;
};

struct admit *admit_new(struct agent_cache *cache)
{
    struct admit *a = NEW(struct admit);

    a->cache = cache;
    map_init(&a->known);
    map_init(&a->expected_keys);
    arena_init(&a->arena);
    return a;
}

static void forget(struct admit *a, struct known_agent *agent)
{
    (void)map_remove(&a->known, str_from(agent->key, agent->key_len));
    free(agent);
}

static void forget_all(struct admit *a)
{
    struct known_agent *agent;
    size_t at = 0;

    assert(a->n_recent == 0);
    while ((agent = map_next(&a->known, &at)) != NULL)
        free(agent);
    map_done(&a->known);
    map_init(&a->known);
}

/* Lists the agent, so that its entry is dropped on a rollback. */
static void note_recent(struct admit *a, struct known_agent *agent)
{
    if (agent->recent)
        return;
    agent->recent = true;
    a->recent = (struct known_agent **)mem_grow((void *)a->recent, a->n_recent, &a->recent_capacity,
                                                sizeof(struct known_agent *));
    a->recent[a->n_recent++] = agent;
}

/* The transaction has ended: nothing is announced any more. */
static void end_txn(struct admit *a)
{
    a->n_full = a->n_changed = a->n_recent = 0;
    a->checked = a->schedules_changed = false;
    if (a->expected_keys.n == 0)
        return;
    a->n_expected = 0;
    map_done(&a->expected_keys);
    arena_reset(&a->arena);
}

void admit_committed(struct txn *txn)
{
    struct admit *a = admit_of(txn);

    for (size_t i = 0; i < a->n_recent; i++)
        a->recent[i]->recent = false;
    for (size_t i = 0; i < a->n_changed; i++)
        agent_cache_changed(a->cache, a->changed[i].tenant_id, a->changed[i].agent_id);
    if (a->schedules_changed)
        agent_cache_set_schedules_changed(a->cache);
    end_txn(a);
}

void admit_rolled_back(struct txn *txn)
{
    struct admit *a = admit_of(txn);

    for (size_t i = 0; i < a->n_recent; i++)
        forget(a, a->recent[i]);
    end_txn(a);
}

void admit_agent_changed(struct admit *a, int64_t tenant_id, int64_t agent_id)
{
    a->changed = mem_grow(a->changed, a->n_changed, &a->changed_capacity, sizeof(*a->changed));
    a->changed[a->n_changed++] = (struct changed_agent){ tenant_id, agent_id };
}

void admit_interval_changed(struct admit *a)
{
    a->schedules_changed = true;
}

void admit_free(struct admit *a)
{
    if (a == NULL)
        return;
    a->n_recent = 0;
    forget_all(a);
    map_done(&a->expected_keys);
    arena_done(&a->arena);
    free((void *)a->recent);
    free(a->expected);
    free(a->full);
    free(a->changed);
    free(a);
}

/* Remembers the agent that a->key names. */
static struct known_agent *remember(struct admit *a, int64_t tenant_id, const struct agent_row *row)
{
    struct known_agent *agent = map_get(&a->known, a->key);

    assert(a->checked && row->agent_id != 0);
    if (agent == NULL) {
        agent = mem_new(sizeof(*agent) + a->key.len);
        *agent = (struct known_agent){ .key_len = (uint32_t)a->key.len };
        memcpy(agent->key, a->key.data, a->key.len);
        (void)map_put(&a->known, str_from(agent->key, agent->key_len), agent);
    }
    agent->agent_id = row->agent_id;
    agent->is_seen = row->last_seen_at != TIME_NULL;
    agent->read_no = a->read_no;
    agent->added = false;
    agent->entry = agent_cache_get(a->cache, tenant_id, row->agent_id);
    agent_entry_set_enabled(agent->entry, row->enabled, a->read_no);
    note_recent(a, agent);
    return agent;
}

/* Once per transaction, before anything is announced or looked up: all jobs of the transaction are
 * queued before it begins, and their announcements must not be dropped halfway. After a reconnect
 * the cached agents are dropped: a standby that has become the primary may not have their rows. */
static void check_known(struct admit *a, const struct db *db)
{
    struct agent_changes changes;
    int64_t session;

    if (a->checked)
        return;
    session = db_session(db);
    changes = agent_cache_changes(a->cache);
    if (session != a->session || changes.of_all != a->all_no || a->known.n > KNOWN_MAX)
        forget_all(a);
    a->session = session;
    a->all_no = changes.of_all;
    a->read_no = changes.n;
    a->checked = true;
}

/* Makes a->key: the tenant's number, in memory order, and the agent's name. */
static void make_key(struct admit *a, int64_t tenant_id, struct str agent_name)
{
    const bool is_long = agent_name.len > KEY_NAME_MAX;
    size_t len = is_long ? KEY_BEGINNING : agent_name.len;
    char *name = a->key_room + sizeof(tenant_id);
    struct sha256 digest;

    memcpy(a->key_room, &tenant_id, sizeof(tenant_id));
    if (len > 0)
        memcpy(name, agent_name.data, len);
    if (is_long) {
        digest = digest_sha256(agent_name);
        memcpy(name + len, digest.bytes, sizeof(digest.bytes));
        len += sizeof(digest.bytes);
    }
    a->key = str_from(a->key_room, sizeof(tenant_id) + len);
}

/* The agent if it is known and has not changed since; its key stays in a->key. */
static struct known_agent *look_up(const struct txn *txn, int64_t tenant_id, struct str agent_name)
{
    struct admit *a = admit_of(txn);
    struct known_agent *agent;

    check_known(a, txn->db);
    make_key(a, tenant_id, agent_name);
    agent = map_get(&a->known, a->key);
    return agent != NULL && agent_entry_holds(agent->entry, agent->read_no) ? agent : NULL;
}

void admit_expect(struct txn *txn, const struct applicant *agent, bool seen)
{
    struct admit *a = admit_of(txn);
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
static void remember_found(struct admit *a, bool added)
{
    const size_t n = a->n_expected;

    a->n_expected = 0;
    for (size_t i = 0; i < n; i++) {
        const struct agent_seek seek = a->expected[i];
        struct known_agent *known;

        if (seek.row.agent_id == 0) {
            a->expected[a->n_expected++] = seek;
            continue;
        }
        make_key(a, seek.tenant_id, seek.agent_name);
        known = remember(a, seek.tenant_id, &seek.row);
        known->added = added;
        if (added && seek.seen)
            agent_entry_set_stored(known->entry, seek.at);
    }
}

int admit_expected(struct txn *txn, struct error *err)
{
    struct admit *a = admit_of(txn);
    struct db *db = txn->db;

    if (a == NULL || a->n_expected == 0)
        return 0;
    metric_add(METRIC_AGENT_LOOKUPS, a->n_expected);
    if (agents_find_all(db, a->expected, a->n_expected, &a->arena, err) != 0)
        return -1;
    remember_found(a, false);
    if (a->n_expected > 0 && agents_add_all(db, a->expected, a->n_expected, &a->arena, err) != 0)
        return -1;
    remember_found(a, true);
    if (a->n_expected > 0 && agents_find_all(db, a->expected, a->n_expected, &a->arena, err) != 0)
        return -1;
    remember_found(a, false); /* others added these before the tenants' rows were locked */
    a->n_expected = 0;
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
        admit_of(txn) == NULL ? NULL : look_up(txn, agent->tenant_id, agent->agent_name);

    if (known == NULL || !known->added)
        return false;
    known->added = false;
    *ret = (struct agent_row){ .agent_id = known->agent_id, .enabled = true };
    return true;
}

/* Was the agent that a->key names announced, and then not found, so that a full tenant need not be
 * asked again? One that was known is asked for each time: it may have changed. */
static bool is_refused(const struct admit *a, int64_t tenant_id)
{
    return is_full(a, tenant_id) && map_get(&a->expected_keys, a->key) != NULL &&
           map_get(&a->known, a->key) == NULL;
}

/* Finds the agent, or adds it when `may_add`; *ret is NULL when it is unknown or the cap is
 * reached. */
static int find_or_add(const struct txn *txn, const struct applicant *agent, bool may_add,
                       struct known_agent **ret, struct error *err)
{
    struct admit *a = admit_of(txn);
    struct db *db = txn->db;
    struct agent_row row;

    *ret = look_up(txn, agent->tenant_id, agent->agent_name);
    if (*ret != NULL || is_refused(a, agent->tenant_id))
        return 0;
    metric_add(METRIC_AGENT_LOOKUPS, 1);
    if (agents_find(db, agent->tenant_id, agent->agent_name, &row, err) != 0)
        return -1;
    if (row.agent_id == 0 && may_add &&
        agents_add(db, agent->tenant_id, agent->agent_name, agent->at, &row, err) != 0)
        return -1;
    if (row.agent_id != 0)
        *ret = remember(a, agent->tenant_id, &row);
    else if (may_add)
        note_full(a, agent->tenant_id);
    return 0;
}

/* An agent's first sighting is stored at once, since an agent that was never seen cannot fall
 * silent. So is the one that ends a silence, together with the closing of the alert. If the
 * transaction is rolled back, or another process has locked the row, the next save stores it. */
static int note_seen(struct txn *txn, struct known_agent *known, const struct applicant *agent,
                     struct error *err)
{
    struct admit *a = admit_of(txn);
    struct sighting sighting = { .tenant_id = agent->tenant_id,
                                 .agent_id = known->agent_id,
                                 .at = agent->at };

    if (!known->is_seen)
        note_recent(a, known);
    if ((!known->is_seen || agent_entry_take_urgent(known->entry)) &&
        (sightings_put(txn->db, &sighting, 1, clock_wall_us(), err) != 0 ||
         agent_cache_publish_sightings(a->cache, txn, &sighting, 1, err) != 0))
        return -1;
    known->is_seen = true;
    agent_cache_seen(a->cache, known->entry, agent->at);
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
    ret->verdict = agent_entry_is_enabled(known->entry) ? VERDICT_ACCEPTED : VERDICT_AGENT_DISABLED;
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

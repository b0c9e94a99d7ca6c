/* known_agents.h - the agents that a writer remembers, so that a report of one costs no statement.
 *
 * Bounded in all. Beyond the bound an agent that has not reported for a while makes room, of a
 * large tenant rather than of a small one; if the few that are looked at have all reported, one of
 * the tenant that has the most. So a tenant with ever new names pushes out its own agents, and
 * of others at most some that do not report. Which one of those is left to chance: agents report in
 * turn, and whichever rule by age would then forget each shortly before it is asked for.
 *
 * Writer thread only.
 */
#pragma once
#include <stdbool.h>

#include "base/digest.h"
#include "base/map.h"
#include "base/str.h"

struct known_tenant;
struct last_seen_entry;

struct known_agent {
    struct last_seen_entry *entry;
    int64_t agent_id;
    int64_t last_seen_at; /* TIME_NULL: never */
    int64_t read_no;      /* n of last_seen_changes() before it was read */
    bool added;           /* because it was announced, and no job has asked for it yet */

    /* Internal. */
    bool recent; /* a rollback forgets it */
    uint32_t key_len;
    struct known_tenant *tenant;
    size_t place; /* among those of its tenant */
    char key[];
};

struct known_agents {
    size_t max;
    struct map agents; /* known_agents_key() -> struct known_agent */
    struct map by_id;  /* tenant_id -> struct known_tenant */

    /* The same tenants: that at i has at least as many agents as those at 2i + 1 and 2i + 2. */
    struct known_tenant **tenants;
    size_t n_tenants, tenants_capacity;

    struct known_agent **recent;
    size_t n_recent, recent_capacity;
    uint64_t random;
};

void known_agents_init(struct known_agents *k, size_t max);
void known_agents_done(struct known_agents *k);

/* The key of an agent, in `room`: the tenant's number, in memory order, and the agent's name, of
 * which a long one, and it may be as long as a body, stands there by its beginning and its digest.
 */
enum { KNOWN_NAME_MAX = 96, KNOWN_NAME_BEGINNING = KNOWN_NAME_MAX + 1 - SHA256_BYTES };
struct known_agent_key {
    char bytes[sizeof(int64_t) + KNOWN_NAME_MAX + 1];
};
struct str known_agents_key(int64_t tenant_id, struct str agent_name, struct known_agent_key *room);

/* NULL: not remembered. */
struct known_agent *known_agents_find(const struct known_agents *k, struct str key);

/* The same; a new one is zeroed, and `recent`. Valid until it is forgotten. */
struct known_agent *known_agents_put(struct known_agents *k, struct str key);

/* It is gone from the store. Nothing happens if it was not remembered. */
void known_agents_remove(struct known_agents *k, struct str key);

/* What was found out of this agent is lost with a rollback. */
void known_agents_note_recent(struct known_agents *k, struct known_agent *agent);

/* The end of a transaction: what was recent is kept or forgotten. */
void known_agents_keep_recent(struct known_agents *k);
void known_agents_forget_recent(struct known_agents *k);

/* Makes room until the bound is kept. Between transactions: a group is not to lose what it has just
 * looked up. */
void known_agents_trim(struct known_agents *k, int64_t now_us);

void known_agents_forget_all(struct known_agents *k);

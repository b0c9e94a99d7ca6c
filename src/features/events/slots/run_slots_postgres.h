/* run_slots_postgres.h - the runs of the events that are being stored, on PostgreSQL.
 *
 * All writers take the same order: runs that may be new are inserted by id, then all are locked by
 * id. So no writer waits for a run that another has inserted while it has runs locked, unless runs
 * were deleted meanwhile.
 */
#pragma once
#include <stdatomic.h>

#include "base/map.h"
#include "base/str.h"
#include "features/events/run_state.h"

struct db;
struct error;

enum { RUNS_KNOWN = 8192 };

/* Runs that were seen not long ago, as hashes, each in its place: no insert is tried for them. One
 * that was deleted since is forgotten when it is missed. Any thread. */
struct runs_known {
    _Atomic uint64_t hashes[RUNS_KNOWN];
};

void runs_known_clear(struct runs_known *known);

/* A run that has events among those to be stored. */
struct run_slot {
    int64_t tenant_id, agent_id, run_no;
    struct str run_id;
    struct run_state state;    /* as it is stored; later, as it is to be */
    struct run_state foreseen; /* of a new run: as its row says, if each event is stored */
    int64_t expected, stored;  /* events to be stored, and those that were */
    int64_t new_no;            /* offered for its row, if it may be new; 0 */
};

struct run_slots {
    struct db *db;
    struct arena *arena;
    struct runs_known *known;
    struct run_slot *items;
    size_t n;
    struct map by_key; /* tenant and run_id -> struct run_slot */
    bool one_tenant;   /* all are one tenant's, as the statements for Citus need */
};

/* Tenant and id as one key, in the arena. */
struct str run_slots_key(struct arena *arena, int64_t tenant_id, struct str id);

/* Inserts new runs with what is foreseen, and locks all of them. */
int run_slots_lock(struct run_slots *s, struct error *err);

/* Writes states that are not stored yet; deletes runs that were inserted for duplicates only. */
int run_slots_save(struct run_slots *s, struct error *err);

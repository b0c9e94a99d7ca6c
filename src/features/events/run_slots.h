/* run_slots.h - the runs of the events that are being stored, on PostgreSQL.
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
struct event_item;

enum { RUNS_KNOWN = 65536 };

/* Runs that were stored not long ago, as hashes, each in its place: no insert is tried for them.
 * One that was deleted since is forgotten when it is missed. Any thread: what two threads have
 * written by halves is wrong, which is noticed when the run is locked. */
struct runs_known {
    struct {
        _Atomic uint64_t hash;
        _Atomic int64_t run_no, n_events;
    } places[RUNS_KNOWN];
};

/* The run is committed, with this number of events. */
void runs_known_add(struct runs_known *known, const struct event_item *item);

/* A run that has events among those to be stored. */
struct run_slot {
    int64_t tenant_id, agent_id, run_no;
    struct str run_id;
    struct run_state state;    /* as it is stored; later, as it is to be */
    struct run_state foreseen; /* of a new run: as its row says, if each event is stored */
    int64_t expected, stored;  /* events to be stored, and those that were */
    int64_t new_no;            /* offered for its row, if it may be new; 0 */
    int64_t known_no;          /* by which it was known; 0: not */
    int64_t known_events;      /* that it had then */
    int64_t assumed_no;        /* by which its events were stored before it was locked; 0 */
    bool starts;               /* its first event says so: then it is new, unless it came late */
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

/* Are the numbers of all runs known or, if they seem to be new, theirs to choose? */
bool run_slots_foresee(struct run_slots *s);

/* Inserts new runs with what is foreseen, and locks all of them. */
int run_slots_lock(struct run_slots *s, struct error *err);

/* The same, with the next statement, if run_slots_foresee() says so. For that one the numbers of
 * runs are assumed. After it run_slots_confirm() says whether they all were right, and no run has
 * got other events meanwhile, whose numbers might be greater than those of the ones to be stored;
 * else nothing is assumed any longer. */
int run_slots_lock_later(struct run_slots *s, struct error *err);
bool run_slots_confirm(struct run_slots *s);

/* Did the lock find all of them? */
bool run_slots_are_there(const struct run_slots *s);

/* Writes states that are not stored yet; deletes runs that were inserted for duplicates only. */
int run_slots_save(struct run_slots *s, struct error *err);

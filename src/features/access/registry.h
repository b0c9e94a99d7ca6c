/* registry.h - tenants and keys in memory, so that loops never ask a database.
 *
 * What is found stays valid until registry_free(): entries are only ever added
 * or changed in place, never taken away. The database carries a number that
 * grows with every change; registry_refresh() compares it and reloads.
 *
 * The grace of a rotated key is measured by the monotonic clock from the moment
 * this process learned of the rotation, so that setting the wall clock neither
 * ends nor prolongs it; what was rotated before the process began is judged by
 * the wall clock.
 *
 * Thread-safe.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"
#include "features/access/token.h"

struct db;
struct rate_window;
struct registry;

struct tenant_entry {
    int64_t id;
    struct str slug;
    _Atomic int64_t max_agents, rate_limit;
    atomic_bool run_failed; /* its failed runs are to be alerted of */
};

/* What this process knows of a key's use; changed by whoever uses it. */
struct key_use {
    _Atomic int64_t last_at; /* wall clock; 0: not used here */
    int64_t stored_at;       /* key_use.c's own: the last one that it handed over to be stored */
    atomic_bool noted;       /* no need (any more) to note its first use */
};

struct key_entry {
    struct tenant_entry *tenant;
    struct str key_id;
    enum token_kind kind;
    struct str agent_name; /* STR_NULL: a workspace key */
    struct sha256 digest;
    struct rate_window *rate; /* a successor goes on with its predecessor's */
    struct key_use *use;
    _Atomic int64_t expires_at;  /* wall clock, INT64_MAX: never */
    _Atomic int64_t grace_until; /* monotonic clock, INT64_MAX: it was not rotated */
    atomic_bool revoked;

    /* The registry's own. */
    struct str predecessor;
    bool owns_rate;
    int64_t loaded; /* number of the last load that it was in */
};

/* How long a key stays good after its first rotation. */
#define KEY_GRACE_US (300 * (int64_t)USEC_PER_SEC)

struct registry *registry_new(void);

/* NULL is fine. */
void registry_free(struct registry *r);

/* Reads the change number and, if it moved, everything. Blocks: never on a loop thread. */
int registry_refresh(struct registry *r, struct db *db, struct error *err) MUST_CHECK;

/* Loads what else the change number stands for, in the same view of the database. */
typedef int registry_load_fn(void *ctx, struct db *db, struct error *err);

/* Before the first refresh. */
void registry_on_load(struct registry *r, registry_load_fn *fn, void *ctx);

/* Grows with every reload. */
int64_t registry_number(const struct registry *r);

/* Neither revoked, nor expired at `now_us` (wall clock), nor beyond its grace. */
bool key_is_good(const struct key_entry *key, int64_t now_us);

/* The key with this digest that is good at `now_us`; else NULL. */
const struct key_entry *registry_key(struct registry *r, const struct sha256 *digest,
                                     int64_t now_us);

/* Was there ever a key with this digest, good or not? If so, nothing makes it good again. */
bool registry_knew_key(struct registry *r, const struct sha256 *digest);

/* By its public id, good or not; NULL when this process knows none. */
const struct key_entry *registry_key_by_id(struct registry *r, struct str key_id);

/* Up to `max` keys that were used since they were last handed over here; returns how many. One
 * thread at a time. */
size_t registry_take_used(struct registry *r, const struct key_entry **ret, size_t max);

/* NULL when there is none. */
const struct tenant_entry *registry_tenant(struct registry *r, struct str slug);

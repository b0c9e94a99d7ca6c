/* registry.h - tenants and keys in memory, so that loops never read the database.
 *
 * Tenants stay valid until registry_free(). A key stays valid while it is held: registry_key()
 * holds it, key_unhold() ends that. Keys that are over leave the registry with the next sweep, and
 * their memory once no one holds them and nothing is counted in their budget.
 *
 * Every change increments a number in the database, and rows that changed carry it;
 * registry_refresh() compares it and loads the rows that changed since, or all tenants when
 * registry_reload() asked for it, and everything when the database may have lost changes
 * (db/followed.h). The first load reads all tenants and a page of the keys; registry_load() reads
 * the other keys page by page, and registry_look_for() single ones on demand.
 *
 * The grace period of a rotated key is measured by the monotonic clock from when this process read
 * of the rotation, so that a step of the wall clock neither ends nor extends it. For a key that was
 * rotated before the process had loaded it, the wall clock decides.
 *
 * Thread-safe.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>

#include "base/budget.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"
#include "engine/writer.h"
#include "features/access/rate.h"
#include "features/access/shapes.h"

struct change_span;
struct db;
struct engine;
struct key_line;
struct registry;
struct tenant_row;

/* Any thread, as all of these; from open() on. */
struct registry *access_registry(const struct engine *e);

struct tenant_entry {
    int64_t id;
    struct str slug;
    _Atomic int64_t max_agents, rate_limit;
    _Atomic int64_t max_bytes;    /* of its stored reports; 0: no quota */
    _Atomic int64_t stored_bytes; /* what they take, as far as this process knows */
    atomic_bool run_failed;       /* alerts on failed runs are enabled */
    struct budget budget;         /* what its callers hold */
    struct rate_window *changes;  /* by its people, on this node */
    struct rate_window *removals; /* by its admins */
    int64_t loaded;               /* internal: version of the last load that included it */
};

/* What a key needs once it is used: most keys of a large fleet are not used on this node. Each
 * request with the key updates it. */
struct key_use {
    struct budget budget;    /* what its callers hold; counts for the tenant too */
    _Atomic int64_t holds;   /* how many hold the key */
    _Atomic int64_t last_at; /* wall clock; 0: not used here */
    int64_t stored_at;       /* key_use.c only: the last use submitted to the writer */
    atomic_bool noted;       /* its first use is stored, or need not be */
};

/* Small, because a registry has hundreds of thousands of them. */
struct key_entry {
    struct tenant_entry *tenant;
    struct str key_id;
    struct str agent_name; /* STR_NULL unless the key is bound to an agent */
    struct sha256 digest;
    enum token_kind kind;
    atomic_bool revoked;
    bool noted;                  /* internal: as in `use` */
    struct key_use *use;         /* NULL until it is first held */
    _Atomic int64_t expires_at;  /* wall clock, INT64_MAX: never */
    _Atomic int64_t grace_until; /* monotonic clock, INT64_MAX: it was not rotated */

    /* Internal. */
    struct key_line *line; /* NULL: its own, and it was not used yet */
    union {
        int64_t loaded;              /* version of the last load that included it */
        struct key_entry *next_gone; /* of a key that has left the maps */
    };
};

/* How long a key stays valid after its first rotation. */
#define KEY_GRACE_US (300 * (int64_t)USEC_PER_SEC)

/* How long after its end a key may still be valid for some process: its grace period, and a day in
 * case a wall clock is wrong. */
#define KEY_DEAD_US (KEY_GRACE_US + (int64_t)24 * 3600 * USEC_PER_SEC)

/* `budgets` is borrowed: tenants and keys are nodes below it. */
struct registry *registry_new(struct budgets *budgets);

/* NULL is fine. */
void registry_free(struct registry *r);

/* Reads the change number and, if it has changed, the changed rows. Blocks: never call it on a loop
 * thread. */
int registry_refresh(struct registry *r, struct db *db, struct error *err) MUST_CHECK;

/* As registry_refresh(), and loads the next page of the keys that are not loaded yet. */
int registry_load(struct registry *r, struct db *db, struct error *err) MUST_CHECK;

/* Will the next registry_load() load more keys? True while keys are missing and the last call
 * loaded some. */
bool registry_has_more(const struct registry *r);

/* Are all keys loaded? Until then a key that is not in memory may exist in the database. */
bool registry_is_complete(const struct registry *r);

/* As registry_refresh(), and loads the key with this digest if it is not loaded yet. ERR_BUSY:
 * whether it exists cannot be decided now. */
int registry_look_for(struct registry *r, struct db *db, const struct sha256 *digest,
                      struct error *err) MUST_CHECK;

/* Loads other data covered by the change number, in the same snapshot of the database. `changed`:
 * what has changed since the last load; NULL: everything is loaded. */
typedef int registry_load_fn(void *ctx, struct db *db, const struct change_span *changed,
                             struct error *err);

/* Before the first refresh. */
void registry_on_load(struct registry *r, registry_load_fn *fn, void *ctx);

/* The change number of the last load: smaller than before when the database has lost changes. */
int64_t registry_number(const struct registry *r);

/* Grows with every load. */
int64_t registry_version(const struct registry *r);

/* Not revoked, not expired at `now_us` (wall clock), and not past its grace period. */
bool key_is_good(const struct key_entry *key, int64_t now_us);

/* The key with this digest if it is valid at `now_us`, held; else NULL. */
const struct key_entry *registry_key(struct registry *r, const struct sha256 *digest,
                                     int64_t now_us);

/* The window in which a key counts; a successor shares its predecessor's. Valid as the key is. */
struct rate_window *key_rate(const struct key_entry *key);

/* Ends a hold; `use` is the `use` of the key. Any thread. */
void key_unhold(void *use);

/* Removes keys that are over: revoked, past their grace, or expired for more than a day. Frees
 * those removed before that no one holds. Call it from time to time, one thread at a time. */
void registry_sweep(struct registry *r);

/* Is a key with this digest known, valid or not? Then asking the database will not help: an invalid
 * key becomes valid again only if the database loses changes, which the watcher notices. */
bool registry_knew_key(struct registry *r, const struct sha256 *digest);

/* When this process last saw the key used; 0: never, or the key is not known here. */
int64_t registry_last_use(struct registry *r, struct str key_id);

/* Up to `max` keys that were used since the last call returned them, held; returns how many. One
 * thread at a time. */
size_t registry_take_used(struct registry *r, const struct key_entry **ret, size_t max);

/* What the callers of a key, or of a tenant, hold. */
struct budget *key_budget(const struct key_entry *key);
struct budget *tenant_budget(const struct tenant_entry *tenant);

/* What the tenant that holds most of this kind holds. */
int64_t registry_largest_use(struct registry *r, enum budget_kind kind);

/* The tenant's reports take this many bytes more, or in all. */
void registry_add_stored(struct registry *r, int64_t tenant_id, int64_t bytes);
void registry_set_stored(struct registry *r, int64_t tenant_id, int64_t bytes);

/* How many tenants have reached the quota of their plan. */
int64_t registry_over_quota(struct registry *r);

/* Has the tenant reached it? */
bool tenant_is_over_quota(const struct tenant_entry *tenant);

/* NULL when there is no such tenant. */
struct tenant_entry *registry_tenant(struct registry *r, struct str slug);
struct tenant_entry *registry_tenant_by_id(struct registry *r, int64_t tenant_id);

/* Calls `fn` for each tenant, with the registry locked. */
typedef void registry_tenant_fn(void *ctx, const struct tenant_entry *tenant);
void registry_each_tenant(struct registry *r, registry_tenant_fn *fn, void *ctx);

/* Any thread; costs next to nothing. */
void key_use_remember(struct key_use *use, int64_t now_us);

/* Submits the last uses that are not stored yet, in bounded steps, without waiting. What cannot be
 * queued is left to the next call. One thread at a time. */
void key_use_flush(struct registry *registry, struct writer *writer);

/* The later of the last use in memory and the stored one; TIME_NULL when the key was never used. */
int64_t key_use_last(struct registry *registry, struct str key_id, int64_t stored_at);

/* Filled in by the caller, in memory that lives until done(). */
struct key_first_use {
    struct writer_job job; /* internal */
    const struct key_entry *key;
    int64_t asked_us; /* as in struct writer_job */
    bool good;        /* set before done(): the key was not revoked */

    /* As a writer job's done(), exactly once. `err` is NULL when durable, and borrowed otherwise.
     */
    void (*done)(struct key_first_use *use, const struct error *err);
};

/* Is the first use of this key stored, or not needed? Any thread. */
bool key_use_is_noted(const struct key_use *use);

/* Stores the first use. Any thread. ERR_BUSY: done() is not called. */
int key_use_note(struct writer *writer, struct key_first_use *use, struct error *err) MUST_CHECK;

/* registry_load.c - reads tenants and keys that are new or changed, in one snapshot each time.
 *
 * The first load reads all tenants and one page of the keys; each further registry_load() reads the
 * next page, until all are loaded. So a node with millions of keys serves requests at once, and no
 * request waits while they are added to the maps. Until then a token that is not in memory is
 * looked up in the database (registry_look_for()).
 *
 * Pages and single keys are read in the same snapshot as the changes: so no row is older than the
 * one in memory, and a revoked key does not come back. */
#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "db/db.h"
#include "db/servers.h"
#include "features/access/keys.h"
#include "features/access/registry.h"
#include "features/access/registry_state.h"
#include "features/access/tenants.h"

enum { PORTION = 10000 }; /* keys; reading them takes about 20 ms */

/* After this long without a refresh everything is loaded: rows of ended keys may have been
 * deleted. */
static const int64_t away_max_us = KEY_DEAD_US / 2;

/* Which of the keys that are not loaded yet to load. */
struct wish {
    bool portion;
    const struct sha256 *digest; /* of one; NULL */
};

struct loaded {
    int64_t number, version;
    enum followed_verdict verdict;
    bool whole;    /* all tenants, not only those that have changed */
    bool all_keys; /* the same of keys */
    bool first; /* the first load: keys that may be in their grace period, and a page of the others
                 */
    bool lost;  /* the database may have lost changes */
    struct change_span span;
    struct list tenants, keys;   /* of struct tenant_row, struct key_row */
    struct list portion, sought; /* of struct key_row */
    bool read_portion,
        late;    /* late: this server's copy lags, so that no further keys can be read */
    bool failed; /* to read what is missing */
};

int64_t registry_number(const struct registry *r)
{
    return atomic_load_explicit(&r->number, memory_order_acquire);
}

int64_t registry_version(const struct registry *r)
{
    return atomic_load_explicit(&r->version, memory_order_acquire);
}

bool registry_is_complete(const struct registry *r)
{
    return atomic_load_explicit(&r->complete, memory_order_acquire);
}

bool registry_has_more(const struct registry *r)
{
    return atomic_load_explicit(&r->has_more, memory_order_acquire);
}

void registry_on_load(struct registry *r, registry_load_fn *fn, void *ctx)
{
    r->on_load = fn;
    r->on_load_ctx = ctx;
}

static int64_t live_since(void)
{
    return clock_wall_us() - KEY_DEAD_US;
}

static int load_changes(struct registry *r, struct db *db, struct arena *arena, struct loaded *ret,
                        struct error *err) REQUIRES(r->refresh)
{
    const int64_t had = registry_number(r);
    const bool was_away = clock_mono_us() - r->refreshed_us > away_max_us;
    struct registry_numbers numbers;

    if (registry_load_numbers(db, &numbers, err) != 0)
        return -1;
    ret->number = numbers.number;
    ret->verdict = followed_judge(&r->followed, db, ret->number);
    if (ret->verdict == FOLLOWED_HOLDS)
        return 0;
    ret->whole = ret->verdict == FOLLOWED_WHOLE || numbers.reload_at > had || was_away;
    ret->first = registry_version(r) == 0;
    ret->all_keys = !ret->first && (ret->verdict == FOLLOWED_WHOLE || was_away);
    ret->lost = ret->verdict == FOLLOWED_WHOLE && had != 0;
    ret->span = ret->whole ? all_changes : (struct change_span){ had, ret->number };
    if (tenants_load(db, ret->span, arena, &ret->tenants, err) != 0)
        return -1;
    if (ret->first)
        return keys_rotated(db, clock_wall_us() - 2 * KEY_GRACE_US, arena, &ret->keys, err);
    if (ret->all_keys)
        return live_keys(db, live_since(), arena, &ret->keys, err);
    /* includes the keys of deleted tenants: those were revoked by the deletion */
    return changed_keys(db, (struct change_span){ had, ret->number }, arena, &ret->keys, err);
}

/* Reads the page of keys after the last one. */
static int load_portion(struct registry *r, struct db *db, struct arena *arena, struct loaded *ret,
                        struct error *err) REQUIRES(r->refresh)
{
    const struct keys_portion from = {
        .since = live_since(),
        .tenant_id = ret->first ? INT64_MIN : r->walk.tenant_id,
        .after = ret->first ? STR_LIT("") : buf_str(&r->walk.key_id),
        .limit = PORTION,
    };

    ret->read_portion = true;
    return keys_load_page(db, &from, arena, &ret->portion, err);
}

/* Reads the keys of `wish` that are not loaded yet; after a load of all keys there are none. */
static int load_missing(struct registry *r, struct db *db, const struct wish *wish,
                        struct arena *arena, struct loaded *ret, struct error *err)
    REQUIRES(r->refresh)
{
    if (!ret->first && (registry_is_complete(r) || ret->all_keys))
        return 0;
    ret->late = ret->number < registry_number(r); /* a server of Citus */
    if (ret->late)
        return wish->digest == NULL ? 0 : err_set(err, ERR_BUSY, "the keys are being loaded");
    if (wish->digest != NULL && keys_by_digest(db, wish->digest, arena, &ret->sought, err) != 0)
        return -1;
    return wish->portion || ret->first ? load_portion(r, db, arena, ret, err) : 0;
}

static void forget_missing(struct loaded *l)
{
    l->portion = l->sought = (struct list){ 0 };
    l->read_portion = false;
}

/* Reads everything in one snapshot. If the missing keys cannot be read, *err is set and ret->failed
 * is true, but the changes are still applied. */
static int load_registry(struct registry *registry, struct db *db, const struct wish *wish,
                         struct arena *arena, struct loaded *ret, struct error *err)
    REQUIRES(registry->refresh)
{
    int r = -1;

    if (db_begin(db, err) != 0)
        return -1;
    if (load_changes(registry, db, arena, ret, err) == 0 &&
        (ret->verdict == FOLLOWED_HOLDS || registry->on_load == NULL ||
         registry->on_load(registry->on_load_ctx, db, ret->whole ? NULL : &ret->span, err) == 0)) {
        ret->failed = load_missing(registry, db, wish, arena, ret, err) != 0;
        if (ret->failed)
            forget_missing(ret);
        r = ret->failed && ret->first ? -1 : 0; /* a first load has a portion */
    }
    db_rollback(db);
    return r;
}

static void put_keys(struct registry *r, const struct list *list, const struct loaded *l)
    REQUIRES(r->refresh) REQUIRES(r->lock)
{
    const struct key_row *keys = list->items;

    for (size_t i = 0; i < list->n; i++)
        registry_put_key(r, &keys[i], l->version, l->lost);
}

static void apply_loaded(struct registry *r, const struct loaded *l) REQUIRES(r->refresh)
    EXCLUDES(r->lock)
{
    const struct tenant_row *tenants = l->tenants.items;

    rwlock_write(&r->lock);
    for (size_t i = 0; i < l->tenants.n; i++)
        registry_put_tenant(r, &tenants[i], l->version);
    put_keys(r, &l->keys, l);
    put_keys(r, &l->portion, l);
    put_keys(r, &l->sought, l);
    if (l->whole)
        registry_end_absent(r, l->version, !l->all_keys);
    if (l->verdict != FOLLOWED_HOLDS) {
        atomic_store(&r->number, l->number);
        atomic_store(&r->version, l->version);
    }
    rwlock_release(&r->lock);
}

/* Records how far the page-by-page load has come. True if it has just read the last page. */
static bool note_portion(struct registry *r, const struct loaded *l) REQUIRES(r->refresh)
{
    const bool was_complete = registry_is_complete(r);
    const bool complete = l->read_portion ? l->portion.n < PORTION : l->all_keys || was_complete;

    if (l->read_portion && l->portion.n > 0) {
        const struct key_row *last = (const struct key_row *)l->portion.items + l->portion.n - 1;

        r->walk.tenant_id = last->tenant_id;
        buf_clear(&r->walk.key_id);
        buf_add(&r->walk.key_id, last->key_id);
    }
    assert(complete || l->first || !was_complete);
    atomic_store_explicit(&r->complete, complete, memory_order_release);
    if (complete || l->late || l->read_portion)
        atomic_store_explicit(&r->has_more, !complete && !l->late, memory_order_release);
    return complete && !was_complete && !l->first;
}

/* Reading millions of keys takes longer than a reader has for a page. */
static int set_time(struct registry *r, struct db *db, enum followed_verdict verdict, bool ends,
                    struct error *err)
{
    static const int64_t whole_us = 120 * (int64_t)USEC_PER_SEC;

    if (verdict != FOLLOWED_WHOLE || registry_version(r) == 0)
        return 0;
    return db_set_read_max(db, ends ? 0 : whole_us, err);
}

static int load_and_apply(struct registry *r, struct db *db, const struct wish *wish,
                          bool *ret_trim, struct error *err) REQUIRES(r->refresh)
{
    struct loaded loaded = { 0 };
    ARENA_SCOPED(arena);

    if (load_registry(r, db, wish, &arena, &loaded, err) != 0)
        return -1;
    loaded.version = registry_version(r) + (loaded.verdict != FOLLOWED_HOLDS);
    if (loaded.lost)
        log_write(LOG_WARNING, "registry",
                  "the database may have lost changes: all keys and tenants are loaded again");
    apply_loaded(r, &loaded);
    if (loaded.verdict != FOLLOWED_HOLDS)
        followed_take(&r->followed, db, loaded.number);
    *ret_trim = note_portion(r, &loaded) || loaded.keys.n > PORTION;
    return loaded.failed ? -1 : 0;
}

/* *ret_trim: much was read. */
static int refresh(struct registry *r, struct db *db, const struct wish *wish, bool *ret_trim,
                   struct error *err) REQUIRES(r->refresh)
{
    enum followed_verdict verdict;
    int64_t number = 0;
    int status;

    if (registry_load_number(db, &number, err) != 0)
        return -1;
    verdict = followed_judge(&r->followed, db, number);
    if (verdict == FOLLOWED_HOLDS &&
        (registry_is_complete(r) || (!wish->portion && wish->digest == NULL)))
        return 0;
    if (set_time(r, db, verdict, false, err) != 0)
        return -1;
    status = load_and_apply(r, db, wish, ret_trim, err);
    if (set_time(r, db, verdict, true, status == 0 ? err : NULL) != 0)
        status = -1;
    return status;
}

static int refresh_and_trim(struct registry *r, struct db *db, const struct wish *wish,
                            struct error *err)
{
    bool trim = false;
    int64_t began_us;
    int status;

    lock_acquire(&r->refresh);
    if (wish->digest != NULL && registry_knew_key(r, wish->digest)) { /* it has come meanwhile */
        lock_release(&r->refresh);
        return 0;
    }
    began_us = clock_mono_us();
    status = refresh(r, db, wish, &trim, err);
    if (status == 0)
        r->refreshed_us = began_us;
    lock_release(&r->refresh);
    if (trim) /* the freed rows lie between allocations that remain */
        mem_trim();
    return status;
}

int registry_refresh(struct registry *r, struct db *db, struct error *err)
{
    return refresh_and_trim(r, db, &(struct wish){ 0 }, err);
}

int registry_load(struct registry *r, struct db *db, struct error *err)
{
    return refresh_and_trim(r, db, &(struct wish){ .portion = true }, err);
}

int registry_look_for(struct registry *r, struct db *db, const struct sha256 *digest,
                      struct error *err)
{
    return refresh_and_trim(r, db, &(struct wish){ .digest = digest }, err);
}

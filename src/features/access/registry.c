/* registry.c - finds tenants and keys, adds them to the maps, and removes keys that have ended. */
#include "features/access/registry.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "db/db.h"
#include "features/access/keys.h"
#include "features/access/rate.h"
#include "features/access/registry_state.h"
#include "features/access/tenants.h"

static struct key_line *new_line(struct str id)
{
    struct key_line *line = mem_new(sizeof(*line) + id.len);

    atomic_init(&line->rate, NULL);
    line->n_keys = 0;
    line->id = str_from(line->text, id.len);
    memcpy(line->text, id.data, id.len);
    return line;
}

static struct key_line *registry_line(struct registry *r, struct str id)
{
    struct key_line *line = map_get(&r->lines, id);

    if (line == NULL) {
        line = new_line(id);
        map_put(&r->lines, line->id, line);
    }
    line->n_keys++;
    return line;
}

static struct key_entry *find_key(struct registry *r, const struct sha256 *digest)
    REQUIRES_SHARED(r->lock)
{
    struct key_entry *key = map_get(&r->keys, digest_str(digest));

    return key != NULL && digest_equal(&key->digest, digest) ? key : NULL;
}

/* Before it is first held. */
static void prepare_use(struct registry *r, struct key_entry *key) REQUIRES(r->lock)
{
    struct key_use *use = NEW(struct key_use);

    budget_init(&use->budget, &r->budgets->key_level, &key->tenant->budget);
    atomic_init(&use->noted, key->noted);
    if (key->line == NULL)
        key->line = registry_line(r, key->key_id);
    key->use = use;
}

static void hold(const struct key_entry *key)
{
    (void)atomic_fetch_add_explicit(&key->use->holds, 1, memory_order_relaxed);
}

/* Holds a key at its first use here. The key was valid a moment ago, but may have been removed
 * meanwhile. */
static const struct key_entry *hold_first(struct registry *r, const struct sha256 *digest)
{
    struct key_entry *key;

    rwlock_write(&r->lock);
    key = find_key(r, digest);
    if (key != NULL && key->use == NULL)
        prepare_use(r, key);
    if (key != NULL)
        hold(key);
    rwlock_release(&r->lock);
    return key;
}

const struct key_entry *registry_key(struct registry *r, const struct sha256 *digest,
                                     int64_t now_us)
{
    const struct key_entry *key;
    bool first;

    /* Removing a key needs the write lock, so none can be removed between find and hold. */
    rwlock_read(&r->lock);
    key = find_key(r, digest);
    if (key != NULL && !key_is_good(key, now_us))
        key = NULL;
    first = key != NULL && key->use == NULL;
    if (key != NULL && !first)
        hold(key);
    rwlock_release(&r->lock);
    return first ? hold_first(r, digest) : key;
}

bool registry_knew_key(struct registry *r, const struct sha256 *digest)
{
    bool known;

    rwlock_read(&r->lock);
    known = find_key(r, digest) != NULL;
    rwlock_release(&r->lock);
    return known;
}

int64_t registry_last_use(struct registry *r, struct str key_id)
{
    const struct key_entry *key;
    int64_t last_at = 0;

    rwlock_read(&r->lock);
    key = map_get(&r->keys_by_id, key_id);
    if (key != NULL && key->use != NULL)
        last_at = atomic_load_explicit(&key->use->last_at, memory_order_relaxed);
    rwlock_release(&r->lock);
    return last_at;
}

/* Takes used keys from the slots before `end`, starting where the last walk stopped. */
static size_t take_used_before(struct registry *r, size_t end, const struct key_entry **ret,
                               size_t max) REQUIRES_SHARED(r->lock)
{
    struct key_entry *key;
    size_t n = 0;

    while (n < max && r->used_at < end && (key = map_next(&r->keys, &r->used_at)) != NULL) {
        int64_t last_at;

        if (key->use == NULL)
            continue;
        last_at = atomic_load_explicit(&key->use->last_at, memory_order_relaxed);
        if (last_at == key->use->stored_at)
            continue;
        key->use->stored_at = last_at;
        hold(key);
        ret[n++] = key;
    }
    return n;
}

/* Resumes where the last call stopped, so that every key gets its turn even if there are more than
 * `max`. */
size_t registry_take_used(struct registry *r, const struct key_entry **ret, size_t max)
{
    const size_t began_at = r->used_at;
    size_t n;

    rwlock_read(&r->lock);
    n = take_used_before(r, SIZE_MAX, ret, max);
    if (n < max) {
        r->used_at = 0;
        n += take_used_before(r, began_at, ret + n, max - n);
    }
    rwlock_release(&r->lock);
    assert(n <= max);
    return n;
}

struct tenant_entry *registry_tenant(struct registry *r, struct str slug)
{
    struct tenant_entry *tenant;

    rwlock_read(&r->lock);
    tenant = map_get(&r->tenants, slug);
    rwlock_release(&r->lock);
    return tenant;
}

struct tenant_entry *registry_tenant_by_id(struct registry *r, int64_t tenant_id)
{
    struct tenant_entry *tenant;

    rwlock_read(&r->lock);
    tenant = map_get(&r->tenants_by_id, registry_id(&tenant_id));
    rwlock_release(&r->lock);
    return tenant;
}

void registry_each_tenant(struct registry *r, registry_tenant_fn *fn, void *ctx)
{
    const struct tenant_entry *tenant;
    size_t at = 0;

    rwlock_read(&r->lock);
    while ((tenant = map_next(&r->tenants, &at)) != NULL)
        fn(ctx, tenant);
    rwlock_release(&r->lock);
}

bool key_is_good(const struct key_entry *key, int64_t now_us)
{
    int64_t grace_until;

    if (atomic_load(&key->revoked) || atomic_load(&key->expires_at) <= now_us)
        return false;
    grace_until = atomic_load(&key->grace_until);
    return grace_until == INT64_MAX || clock_mono_us() < grace_until;
}

void key_unhold(void *use)
{
    int64_t before =
        atomic_fetch_sub_explicit(&((struct key_use *)use)->holds, 1, memory_order_release);

    assert(before > 0);
    (void)before;
}

static void tenant_load(struct tenant_entry *tenant, const struct tenant_row *row)
{
    atomic_store(&tenant->max_agents, row->max_agents);
    atomic_store(&tenant->rate_limit, row->rate_limit);
    atomic_store(&tenant->max_bytes, row->max_bytes);
    atomic_store(&tenant->stored_bytes, row->stored_bytes);
    atomic_store(&tenant->run_failed, row->run_failed);
}

bool tenant_is_over_quota(const struct tenant_entry *tenant)
{
    const int64_t max = atomic_load(&tenant->max_bytes);

    return max > 0 && atomic_load(&tenant->stored_bytes) >= max;
}

/* Callers get const entries, but the budgets in them are counters that change. */
static struct budget *to_count(const struct budget *b)
{
    const union {
        const struct budget *found;
        struct budget *counted;
    } node = { .found = b };

    return node.counted;
}

struct budget *key_budget(const struct key_entry *key)
{
    assert(key->use != NULL); /* it is held */
    return to_count(&key->use->budget);
}

struct budget *tenant_budget(const struct tenant_entry *tenant)
{
    return to_count(&tenant->budget);
}

struct largest {
    enum budget_kind kind;
    int64_t used;
};

static void note_use(void *ctx, const struct tenant_entry *tenant)
{
    struct largest *largest = ctx;
    const int64_t used = budget_used(&tenant->budget, largest->kind);

    if (used > largest->used)
        largest->used = used;
}

int64_t registry_largest_use(struct registry *r, enum budget_kind kind)
{
    struct largest largest = { kind, 0 };

    registry_each_tenant(r, note_use, &largest);
    return largest.used;
}

void registry_add_stored(struct registry *r, int64_t tenant_id, int64_t bytes)
{
    struct tenant_entry *tenant = registry_tenant_by_id(r, tenant_id);

    if (tenant != NULL)
        atomic_fetch_add(&tenant->stored_bytes, bytes);
}

void registry_set_stored(struct registry *r, int64_t tenant_id, int64_t bytes)
{
    struct tenant_entry *tenant = registry_tenant_by_id(r, tenant_id);

    if (tenant != NULL)
        atomic_store(&tenant->stored_bytes, bytes);
}

static void count_over_quota(void *ctx, const struct tenant_entry *tenant)
{
    *(int64_t *)ctx += tenant_is_over_quota(tenant);
}

int64_t registry_over_quota(struct registry *r)
{
    int64_t n = 0;

    registry_each_tenant(r, count_over_quota, &n);
    return n;
}

static struct rate_window *line_rate(struct key_line *line)
{
    struct rate_window *rate = atomic_load_explicit(&line->rate, memory_order_acquire);
    struct rate_window *made;

    if (rate != NULL)
        return rate;
    made = rate_window_new(line->id);
    if (atomic_compare_exchange_strong(&line->rate, &rate, made))
        return made;
    rate_window_free(made); /* another thread was first */
    return rate;
}

struct rate_window *key_rate(const struct key_entry *key)
{
    return line_rate(key->line);
}

static bool key_is_idle(const struct key_entry *key)
{
    bool idle;

    if (key->use == NULL)
        return true;
    idle = atomic_load_explicit(&key->use->holds, memory_order_acquire) == 0;
    for (int kind = 0; kind < BUDGET_KINDS; kind++)
        idle &= budget_used(&key->use->budget, (enum budget_kind)kind) == 0;
    return idle;
}

struct registry *registry_new(struct budgets *budgets)
{
    struct registry *r = NEW(struct registry);

    r->budgets = budgets;
    lock_init(&r->refresh);
    rwlock_init_writer_first(&r->lock);
    arena_init(&r->arena);
    map_init(&r->tenants);
    map_init(&r->tenants_by_id);
    map_init(&r->keys);
    map_init(&r->keys_by_id);
    map_init(&r->lines);
    buf_init(&r->walk.key_id, SIZE_MAX);
    return r;
}

static void free_window(void *window)
{
    rate_window_free(window);
}

void registry_put_tenant(struct registry *r, const struct tenant_row *row, int64_t version)
{
    struct tenant_entry *tenant = map_get(&r->tenants, row->slug);

    if (tenant == NULL || tenant->id != row->tenant_id) { /* deleted, and another has its slug */
        tenant = ARENA_NEW(&r->arena, struct tenant_entry);
        tenant->id = row->tenant_id;
        tenant->slug = arena_copy(&r->arena, row->slug);
        budget_init(&tenant->budget, &r->budgets->tenant_level, &r->budgets->service);
        tenant->changes = rate_window_new(tenant->slug);
        arena_defer(&r->arena, free_window, tenant->changes);
        tenant->removals = rate_window_new(tenant->slug);
        arena_defer(&r->arena, free_window, tenant->removals);
        map_put(&r->tenants, tenant->slug, tenant);
        map_put(&r->tenants_by_id, registry_id(&tenant->id), tenant);
    }
    tenant->loaded = version;
    tenant_load(tenant, row);
}

static void free_line(struct key_line *line)
{
    assert(line->n_keys == 0);
    rate_window_free(atomic_load(&line->rate));
    free(line);
}

static void free_key(struct registry *r, struct key_entry *key) REQUIRES(r->lock)
{
    struct key_line *line = key->line;

    assert(line == NULL || line->n_keys > 0);
    if (line != NULL && --line->n_keys == 0) {
        (void)map_remove(&r->lines, line->id);
        free_line(line);
    }
    free(key->use);
    free(key);
}

/* A key with its names. struct key_use is a separate allocation, so that requests do not write to
 * this one's cache lines. */
static struct key_entry *new_key(const struct key_row *row)
{
    size_t room = row->key_id.len + row->agent_name.len;
    struct key_entry *key = mem_new(sizeof(*key) + room);
    char *names = (char *)(key + 1);

    *key = (struct key_entry){ .kind = key_kind(row),
                               .digest = row->digest,
                               .key_id = str_from(names, row->key_id.len) };
    memcpy(names, row->key_id.data, row->key_id.len);
    if (!str_is_null(row->agent_name)) {
        key->agent_name = str_from(names + row->key_id.len, row->agent_name.len);
        memcpy(names + row->key_id.len, row->agent_name.data, row->agent_name.len);
    }
    return key;
}

static struct tenant_entry *tenant_of(struct registry *r, const struct key_row *row)
    REQUIRES(r->lock)
{
    return map_get(&r->tenants_by_id, registry_id(&row->tenant_id));
}

static struct key_entry *add_key(struct registry *r, const struct key_row *row) REQUIRES(r->lock)
{
    struct key_entry *key = new_key(row);

    key->tenant = tenant_of(r, row);
    assert(key->tenant != NULL); /* loaded from the same snapshot, or before */
    if (!str_eq(row->line, row->key_id))
        key->line = registry_line(r, row->line);
    atomic_store(&key->grace_until, INT64_MAX);
    map_put(&r->keys, digest_str(&key->digest), key);
    map_put(&r->keys_by_id, key->key_id, key);
    return key;
}

/* The rest of the grace period by the wall clock, but at least what is left since the last refresh:
 * a key that was not rotated then cannot have used up more, even if the wall clock was set. */
static int64_t grace_left(const struct registry *r, int64_t rotated_at, bool was_known)
    REQUIRES(r->refresh)
{
    int64_t left = rotated_at + KEY_GRACE_US - clock_wall_us();
    int64_t least = KEY_GRACE_US - (clock_mono_us() - r->refreshed_us);

    if (was_known && left < least)
        left = least;
    return left < KEY_GRACE_US ? left : KEY_GRACE_US;
}

/* Takes the key out of the maps; freed by a later sweep, once no one holds it. */
static void retire(struct registry *r, struct key_entry *key) REQUIRES(r->lock)
{
    atomic_store(&key->revoked, true);
    (void)map_remove(&r->keys, digest_str(&key->digest));
    (void)map_remove(&r->keys_by_id, key->key_id);
    key->next_gone = r->gone;
    r->gone = key;
}

/* Resets what never goes back in normal operation: the database may have lost the rotation or the
 * first use. */
static void put_back(struct key_entry *key, const struct key_row *row)
{
    if (row->rotated_at == TIME_NULL)
        atomic_store(&key->grace_until, INT64_MAX);
    key->noted = false;
    if (key->use != NULL)
        atomic_store(&key->use->noted, false); /* stored again by its next request */
}

void registry_put_key(struct registry *r, const struct key_row *row, int64_t version, bool lost)
{
    struct key_entry *key = map_get(&r->keys, digest_str(&row->digest));
    bool was_known;

    if (lost && key != NULL && key->tenant != tenant_of(r, row)) {
        retire(r, key);
        key = NULL;
    }
    was_known = key != NULL;

    if (key == NULL && (row->revoked_at != TIME_NULL || tenant_of(r, row) == NULL))
        return; /* or it was made while its tenant was being deleted */
    if (key == NULL)
        key = add_key(r, row);
    assert(digest_equal(&key->digest, &row->digest) && key->tenant->id == row->tenant_id);
    key->loaded = version;
    if (lost)
        put_back(key, row);
    atomic_store(&key->revoked, row->revoked_at != TIME_NULL);
    atomic_store(&key->expires_at, row->expires_at == TIME_NULL ? INT64_MAX : row->expires_at);
    if (row->rotated_at != TIME_NULL && atomic_load(&key->grace_until) == INT64_MAX)
        atomic_store(&key->grace_until,
                     clock_mono_us() + grace_left(r, row->rotated_at, was_known));
    key->noted |= str_is_null(row->predecessor) || row->first_used_at != TIME_NULL;
    if (key->noted && key->use != NULL)
        atomic_store(&key->use->noted, true);
}

/* Keys that are missing from a load of all keys were revoked or ended long ago. */
static void end_absent_keys(struct registry *r, int64_t version) REQUIRES(r->lock)
{
    struct key_entry *key;
    size_t at = 0;

    while ((key = map_next(&r->keys, &at)) != NULL)
        if (key->loaded != version)
            atomic_store(&key->revoked, true);
}

/* Removes tenants that are missing from this load, because they were deleted or lost, from one of
 * the maps. Calls in progress may still use them. */
static void forget_absent_tenants(struct map *map, bool by_id, int64_t version)
{
    struct tenant_entry *tenant = NULL;
    size_t at = 0;

    while ((tenant = map_next(map, &at)) != NULL)
        if (tenant->loaded != version) {
            (void)map_remove(map, by_id ? registry_id(&tenant->id) : tenant->slug);
            at = 0; /* a removal moves other entries */
        }
}

void registry_end_absent(struct registry *r, int64_t version, bool tenants_alone)
{
    if (!tenants_alone)
        end_absent_keys(r, version);
    forget_absent_tenants(&r->tenants, false, version);
    forget_absent_tenants(&r->tenants_by_id, true, version);
}

/* A use that is not stored yet keeps the key: key_use_flush() comes first. */
static bool is_over(const struct key_entry *key)
{
    int64_t grace_until = atomic_load(&key->grace_until);

    return (key->use == NULL || atomic_load(&key->use->last_at) == key->use->stored_at) &&
           (atomic_load(&key->revoked) ||
            (grace_until != INT64_MAX && clock_mono_us() >= grace_until) ||
            (atomic_load(&key->expires_at) != INT64_MAX &&
             atomic_load(&key->expires_at) < clock_wall_us() - KEY_DEAD_US));
}

static void free_gone(struct registry *r) REQUIRES(r->lock)
{
    struct key_entry **at = &r->gone;

    while (*at != NULL) {
        struct key_entry *key = *at;

        if (key_is_idle(key)) {
            *at = key->next_gone;
            free_key(r, key);
        } else {
            at = &key->next_gone;
        }
    }
}

/* Some of them, since the lock keeps all requests waiting; the next sweep goes on. */
static void remove_over(struct registry *r) REQUIRES(r->lock)
{
    enum { STEP = 1024 };
    struct key_entry *over[STEP], *key;
    size_t at = 0, n = 0;

    while (n < STEP && (key = map_next(&r->keys, &at)) != NULL)
        if (is_over(key))
            over[n++] = key;
    for (size_t i = 0; i < n; i++)
        retire(r, over[i]);
}

void registry_sweep(struct registry *r)
{
    rwlock_write(&r->lock);
    free_gone(r); /* removed by an earlier sweep: a request that found one holds it by now */
    remove_over(r);
    rwlock_release(&r->lock);
}

void registry_free(struct registry *r)
{
    struct key_entry *key, *next;
    size_t at = 0;

    if (r == NULL)
        return;
    rwlock_unshared(&r->lock);
    for (key = r->gone; key != NULL; key = next) {
        next = key->next_gone;
        free_key(r, key);
    }
    while ((key = map_next(&r->keys, &at)) != NULL)
        free_key(r, key);
    map_done(&r->lines);
    map_done(&r->keys_by_id);
    map_done(&r->keys);
    map_done(&r->tenants_by_id);
    map_done(&r->tenants);
    arena_done(&r->arena);
    buf_done(&r->walk.key_id);
    rwlock_done(&r->lock);
    lock_done(&r->refresh);
    free(r);
}

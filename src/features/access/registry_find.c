/* registry_find.c - finds tenants and keys; a key that is held for the first time is prepared for
 * it. */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "features/access/registry_state.h"

static struct key_line *new_line(struct str id)
{
    struct key_line *line = mem_new(sizeof(*line) + id.len);

    atomic_init(&line->rate, NULL);
    line->n_keys = 0;
    line->id = str_from(line->text, id.len);
    memcpy(line->text, id.data, id.len);
    return line;
}

struct key_line *registry_line(struct registry *r, struct str id)
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

/* A key that was good a moment ago. It may have been removed meanwhile. */
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

    /* Keys are removed under the lock for writing: not before they are held. */
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

/* Those whose slots are before `end`, from where the last walk stopped. */
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

/* Goes on where it stopped: of more keys than are taken at a time, each has its turn. */
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

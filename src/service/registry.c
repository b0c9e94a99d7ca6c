/* registry.c - loading tenants, keys and what agents are told, and looking them up. */
#include "service/registry.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/mem.h"
#include "db/db.h"
#include "service/guidance.h"
#include "service/rate.h"
#include "store/keys.h"
#include "store/tenants.h"

struct registry {
    pthread_mutex_t refresh; /* one refresh at a time; taken before `lock` */
    pthread_rwlock_t lock;   /* guards all below */
    struct arena arena;      /* of names: they live as long as the registry */
    struct map tenants;      /* slug -> struct tenant_entry */
    struct map tenants_by_id;
    struct map keys;           /* digest -> struct key_entry */
    struct guidance *guidance; /* replaced as a whole; NULL at first */
    _Atomic int64_t number;    /* of the change that was loaded */
};

struct registry *registry_new(void)
{
    struct registry *r = NEW(struct registry);

    pthread_mutex_init(&r->refresh, NULL);
    pthread_rwlock_init(&r->lock, NULL);
    arena_init(&r->arena);
    map_init(&r->tenants);
    map_init(&r->tenants_by_id);
    map_init(&r->keys);
    return r;
}

void registry_free(struct registry *r)
{
    struct key_entry *key;
    size_t at = 0;

    if (r == NULL)
        return;
    while ((key = map_next(&r->keys, &at)) != NULL)
        rate_window_free(key->rate);
    guidance_free(r->guidance);
    map_done(&r->keys);
    map_done(&r->tenants_by_id);
    map_done(&r->tenants);
    arena_done(&r->arena);
    pthread_rwlock_destroy(&r->lock);
    pthread_mutex_destroy(&r->refresh);
    free(r);
}

static struct str id_str(const int64_t *id)
{
    return str_from((const char *)id, sizeof(*id));
}

static void put_tenant(struct registry *r, const struct tenant_row *row)
{
    struct tenant_entry *tenant = map_get(&r->tenants, row->slug);

    if (tenant == NULL) {
        tenant = ARENA_NEW(&r->arena, struct tenant_entry);
        tenant->id = row->tenant_id;
        tenant->slug = arena_copy(&r->arena, row->slug);
        map_put(&r->tenants, tenant->slug, tenant);
        map_put(&r->tenants_by_id, id_str(&tenant->id), tenant);
    }
    atomic_store(&tenant->max_agents, row->max_agents);
    atomic_store(&tenant->rate_limit, row->rate_limit);
}

static struct str digest_str(const struct sha256 *digest)
{
    return str_from((const char *)digest->bytes, SHA256_BYTES);
}

static void put_key(struct registry *r, const struct key_row *row)
{
    struct key_entry *key = map_get(&r->keys, digest_str(&row->digest));

    if (key == NULL) {
        key = ARENA_NEW(&r->arena, struct key_entry);
        key->tenant = map_get(&r->tenants_by_id, id_str(&row->tenant_id));
        key->key_id = arena_copy(&r->arena, row->key_id);
        key->kind = str_is_null(row->agent_name) ? TOKEN_WORKSPACE : TOKEN_AGENT;
        key->agent_name = arena_copy(&r->arena, row->agent_name);
        key->digest = row->digest;
        key->rate = rate_window_new();
        map_put(&r->keys, digest_str(&key->digest), key);
    }
    atomic_store(&key->expires_at, row->expires_at == TIME_NULL ? INT64_MAX : row->expires_at);
    atomic_store(&key->revoked, row->revoked_at != TIME_NULL);
}

struct loaded {
    int64_t number;
    struct tenant_row *tenants;
    struct key_row *keys;
    size_t n_tenants, n_keys;
    struct guidance *guidance;
};

/* One unchanging view of it all. */
static int load(struct db *db, struct arena *arena, struct loaded *ret, struct error *err)
{
    int r = -1;

    if (db_begin(db, err) != 0)
        return -1;
    if (store_registry_number(db, &ret->number, err) == 0 &&
        store_tenants(db, arena, &ret->tenants, &ret->n_tenants, err) == 0 &&
        store_keys(db, 0, arena, &ret->keys, &ret->n_keys, err) == 0 &&
        guidance_load(db, &ret->guidance, err) == 0)
        r = 0;
    db_rollback(db);
    return r;
}

static void take_over(struct registry *r, const struct loaded *l)
{
    struct guidance *old;

    pthread_rwlock_wrlock(&r->lock);
    for (size_t i = 0; i < l->n_tenants; i++)
        put_tenant(r, &l->tenants[i]);
    for (size_t i = 0; i < l->n_keys; i++)
        put_key(r, &l->keys[i]);
    old = r->guidance;
    r->guidance = l->guidance;
    atomic_store(&r->number, l->number);
    pthread_rwlock_unlock(&r->lock);
    guidance_free(old);
}

int64_t registry_number(const struct registry *r)
{
    return atomic_load_explicit(&r->number, memory_order_acquire);
}

int registry_refresh(struct registry *r, struct db *db, struct error *err)
{
    struct loaded loaded = { 0 };
    struct arena arena;
    int64_t number = 0;
    int status = -1;

    arena_init(&arena);
    pthread_mutex_lock(&r->refresh);
    if (store_registry_number(db, &number, err) != 0)
        goto out;
    if (number == registry_number(r)) {
        status = 0;
        goto out;
    }
    if (load(db, &arena, &loaded, err) != 0)
        goto out;
    take_over(r, &loaded);
    status = 0;
out:
    pthread_mutex_unlock(&r->refresh);
    arena_done(&arena);
    return status;
}

const struct key_entry *registry_key(struct registry *r, const struct sha256 *digest,
                                     int64_t now_us)
{
    const struct key_entry *key;

    pthread_rwlock_rdlock(&r->lock);
    key = map_get(&r->keys, digest_str(digest));
    pthread_rwlock_unlock(&r->lock);
    if (key == NULL || !digest_equal(&key->digest, digest) || atomic_load(&key->revoked) ||
        atomic_load(&key->expires_at) <= now_us)
        return NULL;
    return key;
}

const struct tenant_entry *registry_tenant(struct registry *r, struct str slug)
{
    const struct tenant_entry *tenant;

    pthread_rwlock_rdlock(&r->lock);
    tenant = map_get(&r->tenants, slug);
    pthread_rwlock_unlock(&r->lock);
    return tenant;
}

void registry_model(struct registry *r, int64_t tenant_id, struct str agent_name,
                    struct arena *arena, struct agent_model *ret)
{
    pthread_rwlock_rdlock(&r->lock);
    guidance_model(r->guidance, tenant_id, agent_name, arena, ret);
    pthread_rwlock_unlock(&r->lock);
}

void registry_policy(struct registry *r, int64_t tenant_id, struct str agent_name,
                     struct arena *arena, struct command_policy *ret)
{
    pthread_rwlock_rdlock(&r->lock);
    guidance_policy(r->guidance, tenant_id, agent_name, arena, ret);
    pthread_rwlock_unlock(&r->lock);
}

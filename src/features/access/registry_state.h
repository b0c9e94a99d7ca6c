/* registry_state.h - what the files of the registry share; private to them. */
#pragma once
#include <stdatomic.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/lock.h"
#include "base/map.h"
#include "db/followed.h"

struct change_span;
struct key_entry;
struct key_row;
struct rate_window;
struct tenant_row;

/* The keys made from one another by rotation, which all count in one rate window. */
struct key_line {
    _Atomic(struct rate_window *) rate; /* NULL until it is first used */
    size_t n_keys; /* in memory, removed ones included; guarded by the registry's lock */
    struct str id;
    char text[];
};

/* The last key that was loaded; the next page begins after it. */
struct key_walk {
    int64_t tenant_id;
    struct buf key_id;
};

struct registry {
    struct budgets *budgets;
    struct lock refresh; /* one refresh at a time; taken before `lock` */
    struct rwlock lock;
    struct arena arena GUARDED_BY(lock); /* holds names, which live as long as the registry */
    struct map tenants GUARDED_BY(lock); /* slug -> struct tenant_entry */
    struct map tenants_by_id GUARDED_BY(lock);
    struct map keys GUARDED_BY(lock);         /* digest -> struct key_entry */
    struct map keys_by_id GUARDED_BY(lock);   /* key_id -> the same */
    struct map lines GUARDED_BY(lock);        /* id -> struct key_line */
    struct key_entry *gone GUARDED_BY(lock);  /* no longer in the maps, perhaps still held */
    int64_t refreshed_us GUARDED_BY(refresh); /* monotonic: when the database was last read */
    struct followed followed GUARDED_BY(refresh);
    struct key_walk walk GUARDED_BY(refresh);
    atomic_bool complete, has_more; /* registry_is_complete(), registry_has_more() */
    _Atomic int64_t number;         /* of the last load */
    _Atomic int64_t version;        /* counts loads: numbers may be given again */
    size_t used_at;                 /* only registry_take_used() uses it: the slot to go on from */
    /* registry_load_fn, set before threads start */
    int (*on_load)(void *ctx, struct db *db, const struct change_span *changed, struct error *err);
    void *on_load_ctx;
};

static inline struct str registry_id(const int64_t *id)
{
    return str_from((const char *)id, sizeof(*id));
}

/* A row of this load, which has this version. `lost`: the database may have lost changes. */
void registry_put_tenant(struct registry *r, const struct tenant_row *row, int64_t version)
    REQUIRES(r->lock);
void registry_put_key(struct registry *r, const struct key_row *row, int64_t version, bool lost)
    REQUIRES(r->refresh) REQUIRES(r->lock);

/* After a load of all tenants and, unless `tenants_alone`, of all keys: ends those that it did not
 * include. */
void registry_end_absent(struct registry *r, int64_t version, bool tenants_alone) REQUIRES(r->lock);

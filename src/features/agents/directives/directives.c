/* directives.c - finds the model and command policy of an agent. */
#include "features/agents/directives/directives.h"

#include <assert.h>
#include <stdlib.h>

#include "base/lock.h"
#include "base/map.h"
#include "base/mem.h"
#include "features/agents/directives/store.h"
#include "features/agents/shapes.h"

enum { SINCE_MAX = 64 }; /* tenants loaded one by one before all are loaded again */

/* As they were loaded at one time. */
struct directives {
    int64_t tenant_id;                /* or DIRECTIVES_OF_ALL */
    struct arena arena;               /* holds all rows and their keys */
    struct map rows[DIRECTIVE_KINDS]; /* target -> struct directive_row */
};

/* Tenant, scope and name as one key, in the arena. */
static struct str key_of(const struct directive_key *target, struct arena *arena)
{
    size_t fixed = sizeof(target->tenant_id) + 1;
    char *key = arena_alloc(arena, fixed + target->agent_name.len);

    memcpy(key, &target->tenant_id, sizeof(target->tenant_id));
    key[sizeof(target->tenant_id)] = (char)('0' + target->scope);
    if (target->agent_name.len > 0)
        memcpy(key + fixed, target->agent_name.data, target->agent_name.len);
    return str_from(key, fixed + target->agent_name.len);
}

/* NULL is fine. */
static void directives_free(struct directives *g)
{
    if (g == NULL)
        return;
    for (int kind = 0; kind < DIRECTIVE_KINDS; kind++)
        map_done(&g->rows[kind]);
    arena_done(&g->arena);
    free(g);
}

/* Of one tenant, or of all (DIRECTIVES_OF_ALL). The caller owns *ret. */
static int directives_load(struct db *db, int64_t tenant_id, struct directives **ret,
                           struct error *err)
{
    struct directives *g = NEW(struct directives);
    struct directive_row *rows;
    struct list list;

    g->tenant_id = tenant_id;
    arena_init(&g->arena);
    for (int kind = 0; kind < DIRECTIVE_KINDS; kind++)
        map_init(&g->rows[kind]);
    for (enum directive_kind kind = 0; kind < DIRECTIVE_KINDS; kind++) {
        if (directives_of(db, kind, tenant_id, &g->arena, &list, err) != 0) {
            directives_free(g);
            return -1;
        }
        rows = list.items;
        for (size_t i = 0; i < list.n; i++)
            (void)map_put(&g->rows[kind], key_of(&rows[i].target, &g->arena), &rows[i]);
    }
    *ret = g;
    return 0;
}

struct directives_cache {
    struct rwlock lock;
    struct directives *all GUARDED_BY(lock) PT_GUARDED_BY(lock); /* when all were loaded last; NULL
                                                                  * at first */
    struct map since GUARDED_BY(lock); /* tenant -> struct directives: those that changed since */
    directives_stop_fn *stop;          /* set before threads start; NULL: nothing stops agents */
    void *stop_ctx;
};

static struct str tenant_key(const int64_t *tenant_id)
{
    return str_from((const char *)tenant_id, sizeof(*tenant_id));
}

/* NULL: nothing is loaded. */
static const struct directives *directives_of_tenant(const struct directives_cache *c,
                                                     int64_t tenant_id) REQUIRES_SHARED(c->lock)
{
    const struct directives *since = map_get(&c->since, tenant_key(&tenant_id));

    return since != NULL ? since : c->all;
}

/* The row of the most specific target that has one, or NULL. The arena is for temporary data. */
static const struct directive_row *find_row(const struct directives_cache *c,
                                            enum directive_kind kind, int64_t tenant_id,
                                            struct str agent_name, struct arena *arena)
    REQUIRES_SHARED(c->lock)
{
    const struct directive_key targets[] = {
        { SCOPE_AGENT, tenant_id, agent_name },
        { SCOPE_WORKSPACE, tenant_id, STR_LIT("") },
        { SCOPE_PLATFORM, 0, STR_LIT("") },
    };
    const struct directive_row *row = NULL;

    for (size_t i = 0; row == NULL && i < COUNT_OF(targets); i++) {
        const struct directives *g = directives_of_tenant(c, targets[i].tenant_id);

        row = g == NULL ? NULL : map_get(&g->rows[kind], key_of(&targets[i], arena));
    }
    return row;
}

static struct list copy_strings(const struct list *list, struct arena *arena)
{
    const struct str *from = list->items;
    struct str *to = ARENA_ARRAY(arena, struct str, list->n);

    for (size_t i = 0; i < list->n; i++)
        to[i] = arena_copy(arena, from[i]);
    return (struct list){ to, list->n };
}

struct directives_cache *directives_cache_new(void)
{
    struct directives_cache *c = NEW(struct directives_cache);

    rwlock_init(&c->lock);
    map_init(&c->since);
    return c;
}

static void free_each(struct map *map)
{
    struct directives *g;

    for (size_t at = 0; (g = map_next(map, &at)) != NULL;)
        directives_free(g);
    map_done(map);
}

void directives_cache_free(struct directives_cache *c)
{
    if (c == NULL)
        return;
    rwlock_unshared(&c->lock);
    directives_free(c->all);
    free_each(&c->since);
    rwlock_done(&c->lock);
    free(c);
}

int directives_cache_load(struct directives_cache *c, struct db *db, struct error *err)
{
    struct directives *all, *old;
    struct map since;

    if (directives_load(db, DIRECTIVES_OF_ALL, &all, err) != 0)
        return -1;
    rwlock_write(&c->lock);
    old = c->all;
    since = c->since;
    c->all = all;
    map_init(&c->since);
    rwlock_release(&c->lock);
    directives_free(old);
    free_each(&since);
    return 0;
}

/* The rows of a tenant that changed are in memory twice: once more as they were. */
static bool has_room(struct directives_cache *c, int64_t tenant_id)
{
    bool room;

    rwlock_read(&c->lock);
    room = c->all != NULL &&
           (c->since.n < SINCE_MAX || map_get(&c->since, tenant_key(&tenant_id)) != NULL);
    rwlock_release(&c->lock);
    return room;
}

int directives_cache_load_tenant(struct directives_cache *c, int64_t tenant_id, struct db *db,
                                 struct error *err)
{
    struct directives *loaded, *old;

    assert(tenant_id >= 0);
    if (!has_room(c, tenant_id))
        return directives_cache_load(c, db, err);
    if (directives_load(db, tenant_id, &loaded, err) != 0)
        return -1;
    rwlock_write(&c->lock);
    old = map_remove(&c->since, tenant_key(&tenant_id)); /* its key ends with it */
    (void)map_put(&c->since, tenant_key(&loaded->tenant_id), loaded);
    rwlock_release(&c->lock);
    directives_free(old);
    return 0;
}

void directives_cache_on_pull(struct directives_cache *c, directives_stop_fn *fn, void *ctx)
{
    c->stop = fn;
    c->stop_ctx = ctx;
}

struct str directives_cache_stop(const struct directives_cache *c, int64_t tenant_id,
                                 const struct agent_model *model, struct arena *arena)
{
    return c->stop == NULL ? STR_NULL : c->stop(c->stop_ctx, tenant_id, model, arena);
}

void directives_cache_model(struct directives_cache *c, int64_t tenant_id, struct str agent_name,
                            struct arena *arena, struct agent_model *ret)
{
    const struct directive_row *row;

    *ret = (struct agent_model){ .agent_name = agent_name };
    rwlock_read(&c->lock);
    row = find_row(c, DIRECTIVE_MODEL, tenant_id, agent_name, arena);
    if (row != NULL) {
        ret->model = arena_copy(arena, row->model);
        ret->source = directive_source(row->target.scope);
    }
    rwlock_release(&c->lock);
}

void directives_cache_policy(struct directives_cache *c, int64_t tenant_id, struct str agent_name,
                             struct arena *arena, struct command_policy *ret)
{
    const struct directive_row *row;

    *ret = (struct command_policy){ .agent_name = agent_name,
                                    .mode = str_of(policy_mode_names[POLICY_DENY_ALL]),
                                    .source = directive_source(SCOPE_PLATFORM),
                                    .updated_at = TIME_NULL };
    rwlock_read(&c->lock);
    row = find_row(c, DIRECTIVE_POLICY, tenant_id, agent_name, arena);
    if (row != NULL) {
        ret->mode = str_of(policy_mode_names[row->policy.mode]);
        ret->allow = copy_strings(&row->policy.allow, arena);
        ret->deny = copy_strings(&row->policy.deny, arena);
        ret->source = directive_source(row->target.scope);
        ret->version = row->version;
        ret->updated_at = row->updated_at;
    }
    rwlock_release(&c->lock);
}

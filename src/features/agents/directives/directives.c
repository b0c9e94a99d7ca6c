/* directives.c - finds the model and command policy of an agent. */
#include "features/agents/directives/directives.h"

#include <stdlib.h>

#include "base/lock.h"
#include "base/map.h"
#include "base/mem.h"
#include "features/agents/shapes.h"

struct directives {
    struct arena arena;          /* holds all rows and their keys */
    struct map models, policies; /* target -> struct model_row, struct policy_row */
};

struct str directive_source(int scope)
{
    return str_of(directive_scope_names[scope]);
}

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
    map_done(&g->models);
    map_done(&g->policies);
    arena_done(&g->arena);
    free(g);
}

/* Loads all directives. The caller owns *ret. */
static int directives_load(struct db *db, struct directives **ret, struct error *err)
{
    struct directives *g = NEW(struct directives);
    struct list models, policies;
    struct policy_row *policy;
    struct model_row *model;

    arena_init(&g->arena);
    map_init(&g->models);
    map_init(&g->policies);
    if (store_models(db, &g->arena, &models, err) != 0 ||
        store_policies(db, &g->arena, &policies, err) != 0) {
        directives_free(g);
        return -1;
    }
    model = models.items;
    for (size_t i = 0; i < models.n; i++)
        (void)map_put(&g->models, key_of(&model[i].target, &g->arena), &model[i]);
    policy = policies.items;
    for (size_t i = 0; i < policies.n; i++)
        (void)map_put(&g->policies, key_of(&policy[i].target, &g->arena), &policy[i]);
    *ret = g;
    return 0;
}

/* The row of the most specific target that has one, or NULL. The arena is for temporary data. */
static const void *find_row(const struct map *map, int64_t tenant_id, struct str agent_name,
                            struct arena *arena)
{
    const struct directive_key targets[] = {
        { SCOPE_AGENT, tenant_id, agent_name },
        { SCOPE_WORKSPACE, tenant_id, STR_LIT("") },
        { SCOPE_PLATFORM, 0, STR_LIT("") },
    };
    const void *row = NULL;

    for (size_t i = 0; row == NULL && i < COUNT_OF(targets); i++)
        row = map_get(map, key_of(&targets[i], arena));
    return row;
}

static void directives_model(const struct directives *g, int64_t tenant_id, struct str agent_name,
                             struct arena *arena, struct agent_model *ret)
{
    const struct model_row *row =
        g == NULL ? NULL : find_row(&g->models, tenant_id, agent_name, arena);

    *ret = (struct agent_model){ .agent_name = agent_name };
    if (row == NULL)
        return;
    ret->model = arena_copy(arena, row->model);
    ret->source = directive_source(row->target.scope);
}

static struct list copy_strings(const struct list *list, struct arena *arena)
{
    const struct str *from = list->items;
    struct str *to = ARENA_ARRAY(arena, struct str, list->n);

    for (size_t i = 0; i < list->n; i++)
        to[i] = arena_copy(arena, from[i]);
    return (struct list){ to, list->n };
}

static void directives_policy(const struct directives *g, int64_t tenant_id, struct str agent_name,
                              struct arena *arena, struct command_policy *ret)
{
    const struct policy_row *row =
        g == NULL ? NULL : find_row(&g->policies, tenant_id, agent_name, arena);

    *ret = (struct command_policy){ .agent_name = agent_name,
                                    .mode = str_of(policy_mode_names[POLICY_DENY_ALL]),
                                    .source = directive_source(SCOPE_PLATFORM),
                                    .updated_at = TIME_NULL };
    if (row == NULL)
        return;
    ret->mode = str_of(policy_mode_names[row->policy.mode]);
    ret->allow = copy_strings(&row->policy.allow, arena);
    ret->deny = copy_strings(&row->policy.deny, arena);
    ret->source = directive_source(row->target.scope);
    ret->version = row->version;
    ret->updated_at = row->updated_at;
}

struct directives_cache {
    struct rwlock lock;
    struct directives *loaded GUARDED_BY(lock) PT_GUARDED_BY(lock); /* replaced as a whole; NULL at
                                                                     * first */
    directives_stop_fn *stop; /* set before threads start; NULL: nothing stops agents */
    void *stop_ctx;
};

struct directives_cache *directives_cache_new(void)
{
    struct directives_cache *c = NEW(struct directives_cache);

    rwlock_init(&c->lock);
    return c;
}

void directives_cache_free(struct directives_cache *c)
{
    if (c == NULL)
        return;
    rwlock_unshared(&c->lock);
    directives_free(c->loaded);
    rwlock_done(&c->lock);
    free(c);
}

int directives_cache_load(struct directives_cache *c, struct db *db, struct error *err)
{
    struct directives *loaded, *old;

    if (directives_load(db, &loaded, err) != 0)
        return -1;
    rwlock_write(&c->lock);
    old = c->loaded;
    c->loaded = loaded;
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
    rwlock_read(&c->lock);
    directives_model(c->loaded, tenant_id, agent_name, arena, ret);
    rwlock_release(&c->lock);
}

void directives_cache_policy(struct directives_cache *c, int64_t tenant_id, struct str agent_name,
                             struct arena *arena, struct command_policy *ret)
{
    rwlock_read(&c->lock);
    directives_policy(c->loaded, tenant_id, agent_name, arena, ret);
    rwlock_release(&c->lock);
}

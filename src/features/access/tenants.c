/* tenants.c - converts tenants and keys between the API's shapes and rows. */
#include "features/access/tenants.h"

#include <assert.h>

#include "base/clock.h"
#include "base/digest.h"
#include "features/access/key_rotation.h"
#include "features/access/key_use.h"
#include "features/access/keys_store.h"
#include "features/access/shapes.h"
#include "features/access/stored_bytes.h"
#include "features/access/tenants_store.h"
#include "features/access/users/users_store.h"

static struct tenant tenant_answer(const struct tenant_row *row)
{
    return (struct tenant){ .slug = row->slug,
                            .name = row->name,
                            .max_agents = row->max_agents,
                            .rate_limit = row->rate_limit,
                            .max_bytes = row->max_bytes,
                            .created_at = row->created_at };
}

int tenants_add(struct db *db, const struct tenant_create *create, struct tenant *ret,
                struct error *err)
{
    struct tenant_row row = { .slug = create->slug,
                              .name = create->name,
                              .max_agents = create->max_agents,
                              .rate_limit = create->rate_limit,
                              .max_bytes = create->max_bytes,
                              .created_at = clock_wall_us() };

    if (store_tenant_add(db, &row, err) != 0)
        return -1;
    *ret = tenant_answer(&row);
    return 0;
}

int tenants_set(struct db *db, struct str slug, const struct tenant_patch *patch,
                struct arena *arena, struct tenant *ret, struct error *err)
{
    struct tenant_row row;

    if (store_tenant(db, slug, arena, &row, err) != 0)
        return -1;
    if (!str_is_null(patch->name))
        row.name = patch->name;
    if (patch->max_agents.has)
        row.max_agents = patch->max_agents.value;
    if (patch->rate_limit.has)
        row.rate_limit = patch->rate_limit.value;
    if (patch->max_bytes.has)
        row.max_bytes = patch->max_bytes.value;
    if (store_tenant_set(db, &row, err) != 0)
        return -1;
    *ret = tenant_answer(&row);
    return 0;
}

int tenants_delete(struct db *db, int64_t tenant_id, struct error *err)
{
    if (store_tenant_delete(db, tenant_id, clock_wall_us(), err) != 0)
        return -1;
    return store_users_changed(db, err); /* roles are cached with users */
}

int tenants_get(struct db *db, struct str slug, struct arena *arena, struct tenant_plan *ret,
                struct error *err)
{
    struct tenant_row row;

    if (store_tenant(db, slug, arena, &row, err) != 0 ||
        store_tenant_agents(db, row.tenant_id, &ret->agents, err) != 0 ||
        store_tenant_bytes(db, row.tenant_id, &ret->stored_bytes, err) != 0)
        return -1;
    ret->slug = row.slug;
    ret->name = row.name;
    ret->max_agents = row.max_agents;
    ret->rate_limit = row.rate_limit;
    ret->max_bytes = row.max_bytes;
    ret->created_at = row.created_at;
    return 0;
}

int tenants_list(struct db *db, const struct tenants_query *query, struct arena *arena,
                 struct listing *ret, struct error *err)
{
    const struct str after = str_is_null(query->cursor) ? STR_LIT("") : query->cursor;
    struct list *list = &ret->list;

    /* one more than the page, to know whether there is another */
    if (store_tenant_answers(db, after, query->limit + 1, arena, list, err) != 0)
        return -1;
    ret->next = STR_NULL;
    if (list->n > (size_t)query->limit) {
        list->n = (size_t)query->limit;
        ret->next = ((const struct tenant *)list->items)[list->n - 1].slug;
    }
    return 0;
}

int key_make(struct db *db, struct key_row *row, struct arena *arena, struct str *ret_token,
             struct error *err)
{
    char token[TOKEN_LEN + 1];

    assert(row->tenant_id > 0);
    token_make(key_kind(row), token);
    assert(token_is_well_formed(str_from(token, TOKEN_LEN)));
    row->key_id = digest_random_id("key_", arena);
    row->digest = digest_sha256(str_from(token, TOKEN_LEN));
    row->created_at = clock_wall_us();
    row->last_used_at = row->revoked_at = row->rotated_at = row->first_used_at = TIME_NULL;
    if (store_key_add(db, row, err) != 0)
        return -1;
    *ret_token = arena_copy(arena, str_from(token, TOKEN_LEN));
    return 0;
}

/* Rotations add none: a predecessor ends. */
static int check_room(struct db *db, int64_t tenant_id, struct error *err)
{
    int64_t n = 0;

    if (store_keys_count(db, tenant_id, &n, err) != 0)
        return -1;
    return n < KEYS_MAX
               ? 0
               : err_set(err, ERR_CONFLICT,
                         "There are %lld keys already, which is the limit: revoke keys that are not"
                         " needed, expired ones too",
                         (long long)n);
}

int keys_add(struct db *db, int64_t tenant_id, const struct key_create *create, struct arena *arena,
             struct key_created *ret, struct error *err)
{
    struct key_row row = { .tenant_id = tenant_id,
                           .agent_name = create->agent_name,
                           .read_only = create->read_only,
                           .label = create->label,
                           .expires_at = create->expires_at };
    struct str token;

    assert(tenant_id > 0);
    if (check_room(db, tenant_id, err) != 0 || key_make(db, &row, arena, &token, err) != 0)
        return -1;
    *ret = (struct key_created){ .key_id = row.key_id,
                                 .token = token,
                                 .kind = token_kind_name(key_kind(&row)),
                                 .agent_name = row.agent_name,
                                 .label = row.label,
                                 .created_at = row.created_at,
                                 .expires_at = row.expires_at };
    return 0;
}

int keys_list(struct db *db, struct registry *registry, const struct keys_page *page,
              struct arena *arena, struct listing *ret, struct error *err)
{
    /* one more than the page, to know whether there is another */
    const struct keys_page more = { page->tenant_id, page->after, page->limit + 1 };
    struct key *keys;

    assert(page->tenant_id > 0 && page->limit > 0);
    if (store_keys(db, &more, arena, &ret->list, err) != 0)
        return -1;
    keys = ret->list.items;
    if (ret->list.n > (size_t)page->limit) {
        ret->list.n = (size_t)page->limit;
        ret->next = keys[ret->list.n - 1].key_id;
    }
    for (size_t i = 0; i < ret->list.n; i++)
        keys[i].last_used_at = key_use_last(registry, keys[i].key_id, keys[i].last_used_at);
    return 0;
}

int keys_revoke(struct db *db, const struct key_name *key, bool only, struct arena *arena,
                struct keys_revoked *ret, struct error *err)
{
    const struct key_revocation revocation = { .tenant_id = key->tenant_id,
                                               .key_id = key->key_id,
                                               .descent = !only,
                                               .now_us = clock_wall_us() };

    return store_key_revoke(db, &revocation, arena, &ret->revoked, err);
}

/* registry_world.h - a registry, its database, and what changes there. */
#pragma once
#include "db/driver.h"
#include "db/embedded.h"
#include "features/access/keys.h"
#include "features/access/registry.h"
#include "features/access/tenants.h"
#include "hooks/clock_hook.h"
#include "unit/temp_db.h"

enum { NOW = 1000 };

struct world {
    char url[TEMP_DB_URL_MAX];
    struct db *db;
    struct budgets budgets;
    struct registry *registry;
    int64_t tenant_id;
};

static inline void changed(struct world *w)
{
    CHECK(registry_changed(w->db, NULL) == 0);
}

static inline void refresh(struct world *w)
{
    struct error err = { 0 };

    if (registry_refresh(w->registry, w->db, &err) != 0)
        fail_msg("%s", err.text);
}

static inline int64_t add_tenant(struct world *w, const char *slug)
{
    struct tenant_row row = {
        .slug = str_of(slug), .name = STR_LIT(""), .max_agents = 7, .rate_limit = 11
    };

    changed(w);
    CHECK(tenant_add(w->db, &row, NULL) == 0);
    return row.tenant_id;
}

static inline struct sha256 digest_of(const char *token)
{
    return digest_sha256(str_of(token));
}

static inline void add_key(struct world *w, int64_t tenant_id, const char *token, const char *agent,
                           int64_t expires_at)
{
    const struct key_row row = { .tenant_id = tenant_id,
                                 .key_id = str_of(token),
                                 .digest = digest_of(token),
                                 .agent_name = str_of(agent),
                                 .label = STR_LIT(""),
                                 .last_used_at = TIME_NULL,
                                 .expires_at = expires_at,
                                 .revoked_at = TIME_NULL,
                                 .rotated_at = TIME_NULL,
                                 .first_used_at = TIME_NULL };

    CHECK(key_add(w->db, &row, NULL) == 0);
}

static inline const struct key_entry *find(struct world *w, const char *token, int64_t now)
{
    struct sha256 digest = digest_of(token);

    return registry_key(w->registry, &digest, now);
}

static inline void world_init(struct world *w)
{
    (void)snprintf(w->url, sizeof(w->url), "%s", temp_db_migrated());
    w->db = temp_db_open(w->url, DB_WRITER);
    budgets_init(&w->budgets);
    w->registry = registry_new(&w->budgets);
    w->tenant_id = add_tenant(w, "acme");
}

static inline void world_done(struct world *w)
{
    registry_free(w->registry);
    db_close(w->db);
}

static inline void revoke_key(struct world *w, const char *key_id)
{
    const struct key_revocation revocation = {
        .tenant_id = w->tenant_id, .key_id = str_of(key_id), .descent = true, .now_us = NOW
    };
    struct list revoked;
    struct arena arena;

    arena_init(&arena);
    CHECK(key_revoke(w->db, &revocation, &arena, &revoked, NULL) == 0);
    CHECK_INT(revoked.n, 1);
    arena_done(&arena);
}

/* As a rotation does it; the token is the key's id too. */
static inline void rotate(struct world *w, const char *token, const char *fresh)
{
    struct key_row old, row = { .tenant_id = w->tenant_id,
                                .key_id = str_of(fresh),
                                .digest = digest_of(fresh),
                                .label = STR_LIT(""),
                                .last_used_at = TIME_NULL,
                                .expires_at = TIME_NULL,
                                .revoked_at = TIME_NULL,
                                .predecessor = str_of(token),
                                .rotated_at = TIME_NULL,
                                .first_used_at = TIME_NULL };
    struct list replaced;
    struct arena arena;

    arena_init(&arena);
    changed(w);
    CHECK(key_lock(w->db, w->tenant_id, str_of(token), &arena, &old, NULL) == 0);
    CHECK(key_rotated(w->db, &old, clock_wall_us(), &arena, &replaced, NULL) == 0);
    row.line = old.line;
    CHECK(key_add(w->db, &row, NULL) == 0);
    arena_done(&arena);
}

static inline bool knows(struct world *w, const char *token)
{
    const struct sha256 digest = digest_of(token);

    return registry_knew_key(w->registry, &digest);
}

/* A copy of the database, which has nothing of what changes from now on. */
static inline struct db *copy_database(const struct world *w, int64_t session)
{
    struct db *copy;
    const char *url;

    CHECK(db_checkpoint(w->db, NULL) == 0);
    url = temp_db_new();
    temp_db_copy(w->url + strlen("sqlite:"), url + strlen("sqlite:"));
    copy = temp_db_open(url, DB_WRITER);
    copy->session = session;
    return copy;
}

/* store_world.h - a migrated database with a tenant and an agent, and its rows as text. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "features/access/tenants.h"
#include "features/agents/agents_store.h"
#include "shape/problems.h"
#include "shape/shape.h"
#include "unit/temp_db.h"

#define RUN "3f2b8c1e-9a4d-4e6f-8b7a-0c1d2e3f4a5b"

struct world {
    struct db *db;
    struct arena arena;
    struct buf text;
    int64_t tenant_id, agent_id;
};

/* Fails the test with the sentence when `r` is not 0. */
static inline void must(int r, const struct error *err)
{
    if (r != 0)
        fail_msg("%s", err->text);
}

static inline int64_t world_add_agent(struct world *w, const char *name)
{
    struct agent_row agent = { 0 };
    struct error err = { 0 };

    must(agents_add(w->db, w->tenant_id, str_of(name), 1, &agent, &err), &err);
    CHECK(agent.agent_id != 0);
    return agent.agent_id;
}

static inline void world_init(struct world *w)
{
    struct tenant_row tenant = { .slug = STR_LIT("acme"), .name = STR_LIT(""), .max_agents = 3 };
    struct error err = { 0 };

    *w = (struct world){ .db = temp_db_open(temp_db_migrated(), DB_WRITER) };
    arena_init(&w->arena);
    buf_init(&w->text, MIB(16));
    must(tenant_add(w->db, &tenant, &err), &err);
    w->tenant_id = tenant.tenant_id;
    w->agent_id = world_add_agent(w, "collector");
}

static inline void world_done(struct world *w)
{
    db_close(w->db);
    buf_done(&w->text);
    arena_done(&w->arena);
}

/* A good body of `shape`, in the world's arena. */
static inline void *world_read(struct world *w, const struct shape *shape, struct str body)
{
    struct problems *problems = problems_new(&w->arena, "body");
    void *value = arena_zalloc(&w->arena, shape->size);

    if (shape_read_json(shape, body, &w->arena, value, problems) != 0) {
        buf_clear(&w->text);
        problems_write(problems, &w->text);
        fail_msg("%.*s", STR_ARG(w->text));
    }
    return value;
}

static inline bool world_add_row(void *ctx, const struct db_row *row)
{
    struct buf *text = ctx;

    if (text->len > 0)
        buf_add_char(text, '\n');
    buf_add(text, db_get_text(row, 0));
    return true;
}

/* The first column of all rows, one a line; until the next call. */
static inline struct str world_rows(struct world *w, const struct db_query *q, struct db_args args)
{
    struct error err = { 0 };

    buf_clear(&w->text);
    must(db_exec(w->db, q, args, world_add_row, &w->text, &err), &err);
    return buf_str(&w->text);
}

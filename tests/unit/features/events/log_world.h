/* log_world.h - a migrated database with a tenant, an agent and an event log over them. */
#pragma once
#include "features/access/tenants.h"
#include "features/agents/agents_store.h"
#include "features/events/event_log.h"
#include "features/events/event_rows.h"
#include "features/events/shapes.h"
#include "unit/temp_db.h"

enum { LOG_ITEMS_MAX = 8 };

struct log_world {
    struct db *db;
    struct arena arena;
    struct event_log *log;
    int64_t tenant_id, agent_id;
};

static inline void log_must(int r, const struct error *err)
{
    if (r != 0)
        fail_msg("%s", err->text);
}

static inline void log_world_init(struct log_world *w)
{
    struct tenant_row tenant = { .slug = STR_LIT("t"), .name = STR_LIT(""), .max_agents = 10 };
    struct agent_row agent = { 0 };
    struct error err = { 0 };

    *w = (struct log_world){ .db = temp_db_open(temp_db_migrated(), DB_WRITER) };
    arena_init(&w->arena);
    log_must(tenant_add(w->db, &tenant, &err), &err);
    w->tenant_id = tenant.tenant_id;
    log_must(agents_add(w->db, w->tenant_id, STR_LIT("collector"), 1, &agent, &err), &err);
    w->agent_id = agent.agent_id;
    log_must(event_log_new(w->db, &w->log, &err), &err);
}

static inline void log_world_done(struct log_world *w)
{
    w->log->methods->free(w->log);
    arena_done(&w->arena);
    db_close(w->db);
}

/* One transaction. */
static inline void log_add(struct log_world *w, struct event_item *items, size_t n)
{
    const struct event_log_methods *m = w->log->methods;
    struct error err = { 0 };

    log_must(db_begin(w->db, &err), &err);
    log_must(m->add(w->log, w->db, items, n, &w->arena, &err), &err);
    log_must(m->save(w->log, w->db, &err), &err);
    log_must(db_commit(w->db, &err), &err);
    m->committed(w->log, items, n);
}

/* One event in a transaction of its own; was it new? */
static inline bool log_add_one(struct log_world *w, int64_t received_at,
                               const struct telemetry_event *event)
{
    struct event_item item = { .tenant_id = w->tenant_id,
                               .agent_id = w->agent_id,
                               .received_at = received_at,
                               .event = event };

    log_add(w, &item, 1);
    return !item.duplicate;
}

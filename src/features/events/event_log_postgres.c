/* event_log_postgres.c - stores events in bulk: a few statements per transaction.
 *
 * Unique indexes identify duplicates and runs, so that several writers and
 * several processes agree. All of them lock runs in the same order, so that
 * they do not deadlock. Where tenants are distributed, each tenant's events
 * are stored by statements of their own, which its server runs; then the first
 * argument is the tenant instead of an array of tenants. Rows are joined to an
 * agent of the tenant, so that Citus sees that they belong there.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "db/db.h"
#include "db/postgres/array.h"
#include "features/events/event_log.h"
#include "features/events/event_rows.h"
#include "features/events/run_rows.h"
#include "features/events/shapes.h"

/* A run that has events among the items. */
struct run_slot {
    int64_t tenant_id, agent_id, run_no;
    struct str run_id;
    struct run_state state;
    int64_t stored; /* events stored by this call */
};

/* One call of add(). */
struct addition {
    struct db *db;
    struct arena *arena;
    struct event_item *items;
    size_t n;
    bool one_tenant;           /* all items are one tenant's, as the statements for Citus need */
    struct run_slot **slot_of; /* one per item */
    struct run_slot *slots;
    size_t n_slots;
    struct map runs;   /* tenant and run_id -> struct run_slot */
    struct map events; /* tenant and event_id -> struct event_item, the first with that id */
    struct map known;  /* a set of tenant and event_id: stored, of items without room */
};

/* clang-format off */
static const struct db_query insert_runs = {
    .postgres = "INSERT INTO runs (tenant_id, run_id, agent_id, run_no) OVERRIDING SYSTEM VALUE"
                " SELECT t, r, a, no FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[])"
                " AS x(t, r, a, no) ORDER BY t, r ON CONFLICT (tenant_id, run_id) DO NOTHING",
    .citus = "INSERT INTO runs (tenant_id, run_id, agent_id, run_no) OVERRIDING SYSTEM VALUE"
             " SELECT g.tenant_id, r, a, no FROM agents g,"
             " unnest($2::text[], $3::bigint[], $4::bigint[]) AS x(r, a, no)"
             " WHERE g.tenant_id = $1 AND g.agent_id = ($3::bigint[])[1]"
             " ORDER BY r ON CONFLICT (tenant_id, run_id) DO NOTHING",
};
static const struct db_query select_runs = {
    .postgres = "SELECT tenant_id, run_id, run_no, agent_id, " RUN_STATE_COLUMNS " FROM runs"
                " WHERE (tenant_id, run_id) IN (SELECT t, r"
                " FROM unnest($1::bigint[], $2::text[]) AS x(t, r))"
                " ORDER BY tenant_id, run_id FOR UPDATE",
    .citus = "SELECT tenant_id, run_id, run_no, agent_id, " RUN_STATE_COLUMNS " FROM runs"
             " WHERE tenant_id = $1 AND run_id = ANY ($2::text[]) ORDER BY run_id FOR UPDATE",
};
#define EVENT_ARRAYS                                                                               \
    "$2::bigint[], $3::bigint[], $4::text[], $5::smallint[], $6::bigint[], $7::bigint[],"          \
    " $8::bigint[], $9::text[], $10::bigint[], $11::bigint[], $12::text[], $13::text[],"           \
    " $14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::text[],"  \
    " $21::text[], $22::text[], $23::bigint[], $24::bigint[]"
#define ON_KNOWN_EVENT                                                                             \
    " ON CONFLICT (tenant_id, event_id) WHERE event_id <> '' DO NOTHING RETURNING tenant_id, event_id"
/* Numbered as they came, and inserted in the order of their ids: two writers that have the same ids
 * wait for each other, but not in a circle. */
static const struct db_query insert_events = {
    .postgres = "INSERT INTO events (event_no, " EVENT_COLUMNS ") OVERRIDING SYSTEM VALUE"
                " SELECT event_no, " EVENT_COLUMNS " FROM unnest($1::bigint[], " EVENT_ARRAYS ")"
                " AS x(" EVENT_COLUMNS ", event_no) ORDER BY tenant_id, event_id COLLATE \"C\""
                ON_KNOWN_EVENT,
    .citus = "INSERT INTO events (event_no, " EVENT_COLUMNS ") OVERRIDING SYSTEM VALUE"
             " SELECT event_no, t, " EVENT_COLUMNS_OF_TENANT " FROM (SELECT tenant_id AS t FROM agents"
             " WHERE tenant_id = $1 AND agent_id = ($3::bigint[])[1]) g, unnest(" EVENT_ARRAYS ")"
             " AS x(" EVENT_COLUMNS_OF_TENANT ", event_no) ORDER BY event_id COLLATE \"C\"" ON_KNOWN_EVENT,
};
#define SET_STATE                                                                                  \
    "UPDATE runs SET (" RUN_STATE_COLUMNS ") = (x.event_count, x.start_at, x.first_at,"            \
    " x.last_at, x.started_at, x.workflow_run_id, x.closing_at, x.closing_seq, x.closing_event,"   \
    " x.duration_ms, x.records_processed, x.error_type, x.error_message, x.closing_message,"       \
    " x.step_at, x.step_seq, x.step_message, x.version_at, x.version_seq, x.agent_version),"       \
    " agent_id = x.agent"
#define RUN_ARRAYS                                                                                 \
    "$2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],"          \
    " $8::text[], $9::bigint[], $10::bigint[], $11::smallint[], $12::bigint[], $13::bigint[],"     \
    " $14::text[], $15::text[], $16::text[], $17::bigint[], $18::bigint[], $19::text[],"           \
    " $20::bigint[], $21::bigint[], $22::text[], $23::bigint[]"
static const struct db_query update_runs = {
    .postgres = SET_STATE " FROM unnest($1::bigint[], " RUN_ARRAYS ")"
                " AS x(tenant, no, " RUN_STATE_COLUMNS ", agent)"
                " WHERE tenant_id = x.tenant AND run_no = x.no",
    .citus = SET_STATE " FROM unnest(" RUN_ARRAYS ") AS x(no, " RUN_STATE_COLUMNS ", agent)"
             " WHERE tenant_id = $1 AND run_no = x.no AND run_no = ANY ($2::bigint[])",
};
static const struct db_query delete_runs = {
    .postgres = "DELETE FROM runs WHERE (tenant_id, run_no) IN (SELECT t, r"
                " FROM unnest($1::bigint[], $2::bigint[]) AS x(t, r)) AND event_count = 0",
    .citus = "DELETE FROM runs WHERE tenant_id = $1 AND run_no = ANY ($2::bigint[])"
             " AND event_count = 0",
};
static const struct db_query select_known = {
    .postgres = "SELECT tenant_id, event_id FROM events WHERE (tenant_id, event_id) IN"
                " (SELECT t, e FROM unnest($1::bigint[], $2::text[]) AS x(t, e))"
                " AND event_id <> ''",
    .citus = "SELECT tenant_id, event_id FROM events"
             " WHERE tenant_id = $1 AND event_id = ANY ($2::text[]) AND event_id <> ''",
};
static const struct db_query select_run_no = {
    .postgres = "SELECT run_no FROM runs WHERE tenant_id = $1 AND run_id = $2 AND event_count > 0",
};
/* clang-format on */

/* Tenant and id as one key, in the arena. */
static struct str key_of(struct arena *arena, int64_t tenant_id, struct str id)
{
    char *key = arena_alloc(arena, sizeof(tenant_id) + id.len);

    memcpy(key, &tenant_id, sizeof(tenant_id));
    memcpy(key + sizeof(tenant_id), id.data, id.len);
    return str_from(key, sizeof(tenant_id) + id.len);
}

/* Finds the items to insert and their runs. They count as duplicates until insert_all(). */
static void assign_slots(struct addition *a)
{
    for (size_t i = 0; i < a->n; i++) {
        struct event_item *item = &a->items[i];
        struct str event_key = key_of(a->arena, item->tenant_id, item->event->event_id);
        struct str run_key = key_of(a->arena, item->tenant_id, item->event->run_id);
        struct run_slot *slot = map_get(&a->runs, run_key);

        item->duplicate = !item->no_room;
        if (item->no_room)
            continue;
        if (item->event->event_id.len > 0) {
            if (map_get(&a->events, event_key) != NULL)
                continue;
            map_put(&a->events, event_key, item);
        }
        if (slot == NULL) {
            assert(a->n_slots < a->n);
            slot = &a->slots[a->n_slots++];
            *slot = (struct run_slot){ .tenant_id = item->tenant_id,
                                       .agent_id = item->agent_id,
                                       .run_id = item->event->run_id };
            map_put(&a->runs, run_key, slot);
        }
        a->slot_of[i] = slot;
    }
}

static bool event_log_read_run(void *ctx, const struct db_row *row)
{
    struct addition *a = ctx;
    struct str key = key_of(a->arena, db_get_int(row, 0), db_get_text(row, 1));
    struct run_slot *slot = map_get(&a->runs, key);

    if (slot == NULL)
        return true;
    slot->run_no = db_get_int(row, 2);
    if (db_get_int(row, 4) == 0) {
        run_state_init(&slot->state);
    } else {
        slot->agent_id = db_get_int(row, 3);
        run_row_read(row, 4, a->arena, &slot->state);
    }
    return true;
}

/* The arrays as arguments; the first is that of the tenants. */
static void take_args(const struct addition *a, struct pg_arrays *arrays, struct db_value *ret)
{
    pg_arrays_args(arrays, ret);
    if (a->one_tenant)
        ret[0] = db_int(a->items[0].tenant_id);
}

/* Inserts new runs, and locks all of them. */
static int lock_runs(struct addition *a, struct error *err)
{
    struct db_value args[4];
    struct pg_arrays arrays;
    int r = -1;

    pg_arrays_init(&arrays, COUNT_OF(args), a->arena);
    for (size_t i = 0; i < a->n_slots; i++) {
        const struct db_value row[] = { db_int(a->slots[i].tenant_id), db_text(a->slots[i].run_id),
                                        db_int(a->slots[i].agent_id), db_int(db_number(a->db)) };

        pg_arrays_add(&arrays, row);
    }
    take_args(a, &arrays, args);
    if (db_run(a->db, &insert_runs, DB_ARGS_OF(args), err) == 0 &&
        db_exec(a->db, &select_runs, DB_ARGS_OF(args), event_log_read_run, a, err) == 0)
        r = 0;
    pg_arrays_done(&arrays);
    for (size_t i = 0; i < a->n_slots && r == 0; i++)
        if (a->slots[i].run_no == 0) /* deleted since the insert: its events would be lost */
            r = err_set(err, ERR_BUSY, "a run was deleted while its events were being stored");
    return r;
}

static bool event_log_mark_stored(void *ctx, const struct db_row *row)
{
    struct addition *a = ctx;
    struct str id = db_get_text(row, 1);
    struct event_item *item;

    if (id.len == 0)
        return true; /* always stored */
    item = map_get(&a->events, key_of(a->arena, db_get_int(row, 0), id));
    if (item != NULL)
        item->duplicate = false;
    return true;
}

static int insert_all(struct addition *a, struct error *err)
{
    struct db_value values[EVENT_COLUMNS_N + 1];
    struct pg_arrays arrays;
    int r;

    pg_arrays_init(&arrays, COUNT_OF(values), a->arena);
    for (size_t i = 0; i < a->n; i++) {
        if (a->slot_of[i] == NULL)
            continue;
        assert(a->slot_of[i]->run_no > 0 && a->slot_of[i]->tenant_id == a->items[i].tenant_id);
        event_row_values(a->slot_of[i]->run_no, &a->items[i], values);
        values[EVENT_COLUMNS_N] = db_int(db_number(a->db));
        pg_arrays_add(&arrays, values);
        a->items[i].duplicate = a->items[i].event->event_id.len > 0;
    }
    take_args(a, &arrays, values);
    r = db_exec(a->db, &insert_events, DB_ARGS_OF(values), event_log_mark_stored, a, err);
    pg_arrays_done(&arrays);
    return r;
}

/* Writes the new states; deletes runs that were inserted for duplicates only. */
static int save_runs(struct addition *a, struct error *err)
{
    struct db_value values[3 + RUN_STATE_N], args[2];
    struct pg_arrays saved, empty;
    int r = -1;

    pg_arrays_init(&saved, 3 + RUN_STATE_N, a->arena);
    pg_arrays_init(&empty, 2, a->arena);
    for (size_t i = 0; i < a->n_slots; i++) {
        const struct run_slot *slot = &a->slots[i];

        values[0] = db_int(slot->tenant_id);
        values[1] = db_int(slot->run_no);
        run_row_values(&slot->state, values + 2);
        values[2 + RUN_STATE_N] = db_int(slot->agent_id);
        if (slot->stored > 0)
            pg_arrays_add(&saved, values);
        else if (slot->state.event_count == 0)
            pg_arrays_add(&empty, values);
    }
    take_args(a, &saved, values);
    take_args(a, &empty, args);
    if ((saved.n_rows == 0 || db_run(a->db, &update_runs, DB_ARGS_OF(values), err) == 0) &&
        (empty.n_rows == 0 || db_run(a->db, &delete_runs, DB_ARGS_OF(args), err) == 0))
        r = 0;
    pg_arrays_done(&saved);
    pg_arrays_done(&empty);
    return r;
}

static bool event_log_note_known(void *ctx, const struct db_row *row)
{
    struct addition *a = ctx;

    (void)map_put(&a->known, key_of(a->arena, db_get_int(row, 0), db_get_text(row, 1)), a);
    return true;
}

/* Which items without room are stored already, those by this call included? */
static int find_known(struct addition *a, struct error *err)
{
    struct db_value args[2];
    struct pg_arrays arrays;
    int r = 0;

    pg_arrays_init(&arrays, COUNT_OF(args), a->arena);
    for (size_t i = 0; i < a->n; i++) {
        const struct event_item *item = &a->items[i];
        const struct db_value row[] = { db_int(item->tenant_id), db_text(item->event->event_id) };

        if (item->no_room && item->event->event_id.len > 0)
            pg_arrays_add(&arrays, row);
    }
    take_args(a, &arrays, args);
    if (arrays.n_rows > 0)
        r = db_exec(a->db, &select_known, DB_ARGS_OF(args), event_log_note_known, a, err);
    pg_arrays_done(&arrays);
    for (size_t i = 0; i < a->n && r == 0; i++) {
        struct event_item *item = &a->items[i];

        if (item->no_room)
            item->duplicate = map_get(&a->known, key_of(a->arena, item->tenant_id,
                                                        item->event->event_id)) != NULL;
    }
    return r;
}

static int add_new(struct addition *a, struct error *err)
{
    if (a->n_slots == 0)
        return 0;
    if (lock_runs(a, err) != 0 || insert_all(a, err) != 0)
        return -1;
    for (size_t i = 0; i < a->n; i++) {
        if (a->slot_of[i] == NULL || a->items[i].duplicate)
            continue;
        if (a->slot_of[i]->state.event_count ==
            0) /* a run belongs to the agent of its first event */
            a->slot_of[i]->agent_id = a->items[i].agent_id;
        run_state_add(&a->slot_of[i]->state, a->items[i].event);
        a->items[i].run_status = run_state_status(&a->slot_of[i]->state);
        a->items[i].run_no = a->slot_of[i]->run_no;
        a->slot_of[i]->stored++;
    }
    return save_runs(a, err);
}

static int add_all(struct addition *a, struct error *err)
{
    assign_slots(a);
    return add_new(a, err) == 0 ? find_known(a, err) : -1;
}

static int add_items(struct db *db, struct event_item *items, size_t n, struct arena *arena,
                     struct error *err)
{
    struct addition a = { .db = db,
                          .arena = arena,
                          .items = items,
                          .n = n,
                          .one_tenant = db_is_distributed(db),
                          .slot_of = ARENA_ARRAY(arena, struct run_slot *, n),
                          .slots = ARENA_ARRAY(arena, struct run_slot, n) };
    int r;

    map_init(&a.runs);
    map_init(&a.events);
    map_init(&a.known);
    r = add_all(&a, err);
    map_done(&a.runs);
    map_done(&a.events);
    map_done(&a.known);
    return r;
}

/* The items of the tenant of items[first], which none before it is of; the results are copied
 * back. */
static int add_tenant(struct db *db, struct event_item *items, size_t n, size_t first,
                      struct arena *arena, struct error *err)
{
    struct event_item *own = ARENA_ARRAY(arena, struct event_item, n - first);
    size_t *places = ARENA_ARRAY(arena, size_t, n - first);
    size_t n_own = 0;

    for (size_t i = first; i < n; i++) {
        if (items[i].tenant_id != items[first].tenant_id)
            continue;
        places[n_own] = i;
        own[n_own++] = items[i];
    }
    if (add_items(db, own, n_own, arena, err) != 0)
        return -1;
    for (size_t i = 0; i < n_own; i++)
        items[places[i]] = own[i];
    return 0;
}

static int compare_tenants(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Tenant by tenant, in the order of their numbers: so all writers take their locks. */
static int add_by_tenant(struct db *db, struct event_item *items, size_t n, struct arena *arena,
                         struct error *err)
{
    int64_t *tenants = ARENA_ARRAY(arena, int64_t, n);
    size_t first = 0;

    for (size_t i = 0; i < n; i++)
        tenants[i] = items[i].tenant_id;
    qsort(tenants, n, sizeof(*tenants), compare_tenants);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && tenants[i] == tenants[i - 1])
            continue;
        for (first = 0; items[first].tenant_id != tenants[i]; first++)
            ;
        if (add_tenant(db, items, n, first, arena, err) != 0)
            return -1;
    }
    return 0;
}

static int postgres_add(struct event_log *log, struct db *db, struct event_item *items, size_t n,
                        struct arena *arena, struct error *err)
{
    (void)log;
    return db_is_distributed(db) ? add_by_tenant(db, items, n, arena, err)
                                 : add_items(db, items, n, arena, err);
}

static int postgres_find_run(struct event_log *log, struct db *db, int64_t tenant_id,
                             struct str run_id, int64_t *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(run_id));

    (void)log;
    *ret = 0;
    return db_exec(db, &select_run_no, args, db_read_int, ret, err);
}

/* Nothing is kept in memory between transactions. */
static int postgres_prepare(struct event_log *log, struct db *db, struct error *err)
{
    (void)log;
    (void)db;
    (void)err;
    return 0;
}

static void postgres_settled(struct event_log *log)
{
    (void)log;
}

static void postgres_run_gone(struct event_log *log, int64_t tenant_id, struct str run_id)
{
    (void)log;
    (void)tenant_id;
    (void)run_id;
}

static void postgres_free(struct event_log *log)
{
    free(log);
}

static const struct event_log_methods postgres_methods = {
    .free = postgres_free,
    .add = postgres_add,
    .prepare = postgres_prepare,
    .committed = postgres_settled,
    .rolled_back = postgres_settled,
    .forget = postgres_settled,
    .run_gone = postgres_run_gone,
    .find_run = postgres_find_run,
};

int event_log_postgres_new(struct event_log **ret)
{
    struct event_log *log = NEW(struct event_log);

    log->methods = &postgres_methods;
    *ret = log;
    return 0;
}

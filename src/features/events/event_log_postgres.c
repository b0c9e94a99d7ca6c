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
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "db/lists.h"
#include "db/servers.h"
#include "features/events/event_log.h"
#include "features/events/event_rows.h"
#include "features/events/run_slots.h"
#include "features/events/shapes.h"

enum { DOUBTS = 64 }; /* so that guesses which are often wrong cost little */

struct postgres_log {
    struct event_log base;
    struct runs_known known;
    atomic_uint doubts; /* additions that lock runs before they store events */
};

/* Where events are added. */
struct scene {
    struct postgres_log *log;
    struct db *db;
    struct arena *arena;
};

struct numbered_item {
    int64_t event_no;
    struct event_item *item;
};

/* One call of add(). */
struct addition {
    struct postgres_log *log;
    struct db *db;
    struct arena *arena;
    struct event_item *items;
    size_t n;
    bool one_tenant;           /* all items are one tenant's, as the statements for Citus need */
    struct run_slot **slot_of; /* one per item, as the next */
    struct numbered_item *numbered; /* those to insert, in the order of their numbers */
    size_t n_numbered;
    struct run_slots runs;
    struct map events; /* tenant and event_id -> struct event_item, the first with that id */
    struct map known;  /* a set of tenant and event_id: stored, of those asked for */
};

/* clang-format off */
#define EVENT_ARRAYS                                                                               \
    "$2::bigint[], $3::bigint[], $4::text[], $5::smallint[], $6::bigint[], $7::bigint[],"          \
    " $8::bigint[], $9::text[], $10::bigint[], $11::bigint[], $12::text[], $13::text[],"           \
    " $14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::text[],"  \
    " $21::text[], $22::text[], $23::bigint[], $24::uuid[], $25::bigint[]"
#define IN_ORDER_OF_IDS                                                                            \
    "x.event_uuid, x.event_id COLLATE \"C\" ON CONFLICT DO NOTHING RETURNING event_no"
/* Numbered as they came, and inserted in the order of their ids: two writers that have the same ids
 * wait for each other, but not in a circle. What is returned was stored. */
static const struct db_query insert_events = {
    .keeps_plan = true,
    .postgres = "INSERT INTO events (" EVENT_COLUMNS ") SELECT x.* FROM unnest($1::bigint[], "
                EVENT_ARRAYS ") AS x(" EVENT_COLUMNS ") ORDER BY x.tenant_id, " IN_ORDER_OF_IDS,
    .citus = "INSERT INTO events (" EVENT_COLUMNS ") SELECT t, x.* FROM (SELECT tenant_id AS t"
             " FROM agents WHERE tenant_id = $1 AND agent_id = ($3::bigint[])[1]) g,"
             " unnest(" EVENT_ARRAYS ") AS x(" EVENT_COLUMNS_OF_TENANT ") ORDER BY " IN_ORDER_OF_IDS,
};
static const struct db_query delete_events = {
    .keeps_plan = true,
    .postgres = "DELETE FROM events WHERE (tenant_id, event_no) IN (SELECT t, e"
                " FROM unnest($1::bigint[], $2::bigint[]) AS x(t, e))",
    .citus = "DELETE FROM events WHERE tenant_id = $1 AND event_no = ANY ($2::bigint[])",
};
static const struct db_query select_known = {
    .postgres = "SELECT tenant_id, event_id FROM events WHERE (tenant_id, event_id) IN"
                " (SELECT t, e FROM unnest($1::bigint[], $2::text[]) AS x(t, e))"
                " AND event_id IS NOT NULL UNION ALL"
                " SELECT tenant_id, CAST(event_uuid AS TEXT) FROM events WHERE (tenant_id, event_uuid)"
                " IN (SELECT t, u FROM unnest($1::bigint[], $3::uuid[]) AS x(t, u))"
                " AND event_uuid IS NOT NULL",
    .citus = "SELECT tenant_id, event_id FROM events"
             " WHERE tenant_id = $1 AND event_id = ANY ($2::text[]) AND event_id IS NOT NULL UNION ALL"
             " SELECT tenant_id, CAST(event_uuid AS TEXT) FROM events"
             " WHERE tenant_id = $1 AND event_uuid = ANY ($3::uuid[]) AND event_uuid IS NOT NULL",
};
static const struct db_query select_run_no = {
    .postgres = "SELECT run_no FROM runs WHERE tenant_id = $1 AND run_id = $2 AND event_count > 0",
};
/* clang-format on */

/* Finds the items to insert and their runs. They count as duplicates until insert_all(). */
static void assign_slots(struct addition *a)
{
    for (size_t i = 0; i < a->n; i++) {
        struct event_item *item = &a->items[i];
        struct str event_key = run_slots_key(a->arena, item->tenant_id, item->event->event_id);
        struct str run_key = run_slots_key(a->arena, item->tenant_id, item->event->run_id);
        struct run_slot *slot = map_get(&a->runs.by_key, run_key);

        item->duplicate = !item->no_room;
        if (item->no_room)
            continue;
        if (item->event->event_id.len > 0) {
            if (map_get(&a->events, event_key) != NULL)
                continue;
            map_put(&a->events, event_key, item);
        }
        if (slot == NULL) {
            assert(a->runs.n < a->n);
            slot = &a->runs.items[a->runs.n++];
            *slot = (struct run_slot){ .tenant_id = item->tenant_id,
                                       .agent_id = item->agent_id,
                                       .run_id = item->event->run_id,
                                       .starts = item->event->event == EVENT_STARTED };
            run_state_init(&slot->foreseen);
            map_put(&a->runs.by_key, run_key, slot);
        }
        if (run_state_is_of(&slot->foreseen, item->event))
            slot->agent_id = item->agent_id;
        run_state_add(&slot->foreseen, item->event);
        slot->expected++;
        a->slot_of[i] = slot;
    }
}

/* The arrays as arguments; the first is that of the tenants. */
static void take_args(const struct addition *a, struct pg_arrays *arrays, struct db_value *ret)
{
    pg_arrays_args(arrays, ret);
    if (a->one_tenant)
        ret[0] = db_int(a->items[0].tenant_id);
}

static int compare_to_number(const void *number, const void *item)
{
    const int64_t x = *(const int64_t *)number, y = ((const struct numbered_item *)item)->event_no;

    return (x > y) - (x < y);
}

static bool event_log_mark_stored(void *ctx, const struct db_row *row)
{
    const struct addition *a = ctx;
    const int64_t event_no = db_get_int(row, 0);
    struct numbered_item *found =
        bsearch(&event_no, a->numbered, a->n_numbered, sizeof(*a->numbered), compare_to_number);

    assert(found != NULL);
    found->item->duplicate = false;
    found->item->event_no = event_no;
    return true;
}

static bool is_uuid(struct str id)
{
    uint8_t bytes[UUID_BYTES];

    return uuid_pack(id, bytes);
}

static int insert_all(struct addition *a, struct error *err)
{
    struct db_value values[EVENT_COLUMNS_N];
    PG_ARRAYS_SCOPED(arrays, COUNT_OF(values), a->arena);

    for (size_t i = 0; i < a->n; i++) {
        const struct run_slot *slot = a->slot_of[i];
        int64_t event_no;

        if (slot == NULL)
            continue;
        event_no = db_number(a->db);
        assert(slot->tenant_id == a->items[i].tenant_id);
        assert(a->n_numbered == 0 || a->numbered[a->n_numbered - 1].event_no < event_no);
        event_row_values(slot->assumed_no != 0 ? slot->assumed_no : slot->run_no, event_no,
                         &a->items[i], values);
        pg_arrays_add(&arrays, values);
        a->numbered[a->n_numbered++] = (struct numbered_item){ event_no, &a->items[i] };
    }
    take_args(a, &arrays, values);
    return db_exec(a->db, &insert_events, DB_ARGS_OF(values), event_log_mark_stored, a, err);
}

static bool event_log_note_known(void *ctx, const struct db_row *row)
{
    struct addition *a = ctx;

    (void)map_put(&a->known, run_slots_key(a->arena, db_get_int(row, 0), db_get_text(row, 1)), a);
    return true;
}

/* Must be asked whether the item is stored? It has no room, or was to be inserted and was not: not
 * only for a conflict of ids, as two events get the same number when a clock was set back. */
static bool is_asked_for(const struct addition *a, size_t i)
{
    return a->items[i].no_room || (a->slot_of[i] != NULL && a->items[i].duplicate);
}

/* Those by this call included. */
static int select_stored(struct addition *a, struct error *err)
{
    struct db_value args[3];
    PG_ARRAYS_SCOPED(arrays, COUNT_OF(args), a->arena);

    for (size_t i = 0; i < a->n; i++) {
        const struct event_item *item = &a->items[i];
        const struct str id = item->event->event_id;
        const struct db_value row[] = { db_int(item->tenant_id),
                                        is_uuid(id) ? db_null() : db_text(id),
                                        is_uuid(id) ? db_text(id) : db_null() };

        if (is_asked_for(a, i) && id.len > 0)
            pg_arrays_add(&arrays, row);
    }
    take_args(a, &arrays, args);
    if (arrays.n_rows == 0)
        return 0;
    return db_exec(a->db, &select_known, DB_ARGS_OF(args), event_log_note_known, a, err);
}

/* Which items are duplicates, of those that were not inserted? */
static int find_known(struct addition *a, struct error *err)
{
    if (select_stored(a, err) != 0)
        return -1;
    for (size_t i = 0; i < a->n; i++) {
        struct event_item *item = &a->items[i];
        const struct str key = run_slots_key(a->arena, item->tenant_id, item->event->event_id);

        if (!is_asked_for(a, i))
            continue;
        item->duplicate = map_get(&a->known, key) != NULL;
        if (!item->duplicate && !item->no_room)
            return db_contended(a->db, "the number of an event was already in use", err);
    }
    return 0;
}

/* May events be stored in the same turn as their runs are locked, which tells the runs' numbers? */
static bool is_sure(struct addition *a)
{
    unsigned doubts = atomic_load_explicit(&a->log->doubts, memory_order_relaxed);

    if (doubts > 0)
        (void)atomic_compare_exchange_strong(&a->log->doubts, &doubts, doubts - 1);
    return run_slots_foresee(&a->runs) && doubts == 0;
}

/* A run is not as assumed, because another node has stored events of it, or because it was deleted:
 * what was stored goes, and is stored again with the right number and after what was there. An item
 * that was not stored may have had the number of another's event. */
static int insert_again(struct addition *a, struct error *err)
{
    struct db_value args[2];
    PG_ARRAYS_SCOPED(arrays, COUNT_OF(args), a->arena);

    for (size_t i = 0; i < a->n_numbered; i++) {
        struct event_item *item = a->numbered[i].item;

        if (!item->duplicate)
            pg_arrays_add(&arrays, (const struct db_value[]){ db_int(item->tenant_id),
                                                              db_int(a->numbered[i].event_no) });
        item->duplicate = true;
    }
    if (arrays.n_rows == 0 && run_slots_are_there(&a->runs))
        return 0; /* duplicates */
    atomic_store_explicit(&a->log->doubts, DOUBTS, memory_order_relaxed);
    a->n_numbered = 0;
    take_args(a, &arrays, args);
    if ((arrays.n_rows > 0 && db_run_later(a->db, &delete_events, DB_ARGS_OF(args), err) != 0) ||
        run_slots_lock(&a->runs, err) != 0)
        return -1;
    return insert_all(a, err);
}

/* Locks the runs of the events, and inserts these. */
static int lock_and_insert(struct addition *a, struct error *err)
{
    if (!is_sure(a))
        return run_slots_lock(&a->runs, err) == 0 ? insert_all(a, err) : -1;
    if (run_slots_lock_later(&a->runs, err) != 0 || insert_all(a, err) != 0)
        return -1;
    return run_slots_confirm(&a->runs) ? 0 : insert_again(a, err);
}

static int add_new(struct addition *a, struct error *err)
{
    if (a->runs.n == 0)
        return 0;
    if (lock_and_insert(a, err) != 0)
        return -1;
    for (size_t i = 0; i < a->n; i++) {
        struct event_item *item = &a->items[i];
        struct run_slot *slot = a->slot_of[i];

        if (slot == NULL || item->duplicate)
            continue;
        if (run_state_is_of(&slot->state, item->event))
            slot->agent_id = item->agent_id;
        run_state_add(&slot->state, item->event);
        item->run_status = run_state_status(&slot->state);
        item->run_no = slot->run_no;
        item->run_events = slot->state.event_count;
        slot->stored++;
    }
    return run_slots_save(&a->runs, err);
}

static int add_all(struct addition *a, struct error *err)
{
    assign_slots(a);
    return add_new(a, err) == 0 ? find_known(a, err) : -1;
}

static int add_items(const struct scene *c, struct event_item *items, size_t n, struct error *err)
{
    struct addition a = { .log = c->log,
                          .db = c->db,
                          .arena = c->arena,
                          .items = items,
                          .n = n,
                          .one_tenant = db_is_distributed(c->db),
                          .slot_of = ARENA_ARRAY(c->arena, struct run_slot *, n),
                          .numbered = ARENA_ARRAY(c->arena, struct numbered_item, n),
                          .runs = { .db = c->db,
                                    .arena = c->arena,
                                    .known = &c->log->known,
                                    .items = ARENA_ARRAY(c->arena, struct run_slot, n),
                                    .one_tenant = db_is_distributed(c->db) } };
    int r;

    map_init(&a.runs.by_key);
    map_init(&a.events);
    map_init(&a.known);
    r = add_all(&a, err);
    map_done(&a.runs.by_key);
    map_done(&a.events);
    map_done(&a.known);
    return r;
}

static int compare_places(const void *a, const void *b)
{
    const struct event_item *x = *(struct event_item *const *)a,
                            *y = *(struct event_item *const *)b;

    if (x->tenant_id != y->tenant_id)
        return x->tenant_id < y->tenant_id ? -1 : 1;
    return (x > y) - (x < y);
}

/* Adds the items tenant by tenant, each tenant's in their order, and copies what is set in them
 * back. Tenants come in the order of their numbers: so all writers take their locks. */
static int add_by_tenant(const struct scene *c, struct event_item *items, size_t n,
                         struct error *err)
{
    struct event_item **places = ARENA_ARRAY(c->arena, struct event_item *, n);
    struct event_item *own = ARENA_ARRAY(c->arena, struct event_item, n);

    for (size_t i = 0; i < n; i++)
        places[i] = &items[i];
    qsort((void *)places, n, sizeof(struct event_item *), compare_places);
    for (size_t i = 0; i < n; i++)
        own[i] = *places[i];
    for (size_t first = 0, end = 0; first < n; first = end) {
        while (end < n && own[end].tenant_id == own[first].tenant_id)
            end++;
        if (add_items(c, own + first, end - first, err) != 0)
            return -1;
    }
    for (size_t i = 0; i < n; i++)
        *places[i] = own[i];
    return 0;
}

static int postgres_add(struct event_log *log, struct db *db, struct event_item *items, size_t n,
                        struct arena *arena, struct error *err)
{
    struct scene c = { CONTAINER_OF(log, struct postgres_log, base), db, arena };

    return db_is_distributed(db) ? add_by_tenant(&c, items, n, err) : add_items(&c, items, n, err);
}

static int postgres_find_run(struct event_log *log, struct db *db, int64_t tenant_id,
                             struct str run_id, int64_t *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(run_id));

    (void)log;
    return db_exec_int(db, &select_run_no, args, ret, err);
}

/* What is kept in memory is no part of a transaction. */
static int postgres_prepare(struct event_log *log, struct db *db, struct error *err)
{
    (void)log;
    (void)db;
    (void)err;
    return 0;
}

static void postgres_committed(struct event_log *log, const struct event_item *items, size_t n)
{
    struct postgres_log *own = CONTAINER_OF(log, struct postgres_log, base);

    for (size_t i = 0; i < n; i++)
        if (event_item_is_stored(&items[i]))
            runs_known_add(&own->known, &items[i]);
}

static void postgres_rolled_back(struct event_log *log)
{
    (void)log;
}

static void postgres_forget(struct event_log *log)
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
    free(CONTAINER_OF(log, struct postgres_log, base));
}

static const struct event_log_methods postgres_methods = {
    .free = postgres_free,
    .add = postgres_add,
    .prepare = postgres_prepare,
    .committed = postgres_committed,
    .rolled_back = postgres_rolled_back,
    .forget = postgres_forget,
    .run_gone = postgres_run_gone,
    .find_run = postgres_find_run,
};

int event_log_postgres_new(struct event_log **ret)
{
    struct postgres_log *log = NEW(struct postgres_log);

    log->base.methods = &postgres_methods;
    *ret = &log->base;
    return 0;
}

int event_log_new(struct db *db, struct event_log **ret, struct error *err)
{
    if (strcmp(db_dialect(db), "postgres") == 0)
        return event_log_postgres_new(ret);
    return event_log_sqlite_new(db, ret, err);
}

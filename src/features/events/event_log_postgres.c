/* event_log_postgres.c - stores events in bulk: a few statements per transaction.
 *
 * Unique indexes identify duplicates and runs, so that several writers and
 * several processes agree. All of them lock runs in the same order, so that
 * they do not deadlock: runs that may be new are inserted by id, then all are
 * locked by id. Where tenants are distributed, each tenant's events
 * are stored by statements of their own, which its server runs; then the first
 * argument is the tenant instead of an array of tenants. Rows are joined to an
 * agent of the tenant, so that Citus sees that they belong there.
 */
#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "db/lists.h"
#include "db/servers.h"
#include "features/events/event_log.h"
#include "features/events/event_rows.h"
#include "features/events/run_state.h"
#include "features/events/shapes.h"

enum {
    DOUBTS = 64,        /* after a wrong guess this many additions do not guess */
    RUNS_KNOWN = 65536, /* places */
    RUN_KEYS_N = 4,     /* tenant_id, run_id, agent_id, run_no */
};

/* A direct-mapped cache of recently stored runs, by hash: no insert is attempted for them. A run
 * that was deleted since is removed from it when its row is not found. Any thread: if two threads
 * write an entry at once, its values may not match; that is noticed when the run is locked. */
struct runs_known {
    struct {
        _Atomic uint64_t hash;
        _Atomic int64_t run_no, n_events;
    } places[RUNS_KNOWN];
};

/* A run that has events among those to be stored. */
struct run_slot {
    int64_t tenant_id, agent_id, run_no;
    struct str run_id;
    struct run_state state;     /* as stored; later, as it will be stored */
    struct run_state predicted; /* of a new run: as its row says, if each event is stored */
    int64_t expected, stored;   /* events to be stored, and those that were */
    int64_t new_no;             /* offered for its row, if it may be new; 0 */
    int64_t known_no;           /* its number in the cache of known runs; 0: not in the cache */
    int64_t known_events;       /* its number of events in that cache */
    int64_t assumed_no;         /* the guessed number its events were inserted with; 0: none */
    bool starts;                /* its first event here is `started`: so it is probably new */
};

struct postgres_log {
    struct event_log base;
    struct runs_known known;
    atomic_uint doubts; /* how many further additions lock their runs before they insert events */
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
    struct run_slot *runs; /* of the events */
    size_t n_runs;
    struct map runs_by_key; /* tenant and run_id -> struct run_slot */
    struct map events;      /* tenant and event_id -> struct event_item, the first with that id */
    struct map known;       /* a set of tenant and event_id: stored, of those asked for */
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
#define NEW_ARRAYS                                                                                 \
    "$2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],"            \
    " $8::bigint[], $9::bigint[], $10::text[], $11::bigint[], $12::bigint[], $13::smallint[],"     \
    " $14::bigint[], $15::bigint[], $16::text[], $17::text[], $18::text[], $19::bigint[],"         \
    " $20::bigint[], $21::text[], $22::bigint[], $23::bigint[], $24::text[]"
static const struct db_query insert_runs = {
    .keeps_plan = true,
    .postgres = "INSERT INTO runs (tenant_id, run_id, agent_id, run_no, " RUN_STATE_COLUMNS ")"
                " SELECT t, r, a, no, " RUN_STATE_COLUMNS " FROM unnest($1::bigint[], " NEW_ARRAYS ")"
                " AS x(t, r, a, no, " RUN_STATE_COLUMNS ") ORDER BY t, r"
                " ON CONFLICT (tenant_id, run_id) DO NOTHING",
    .citus = "INSERT INTO runs (tenant_id, run_id, agent_id, run_no, " RUN_STATE_COLUMNS ")"
             " SELECT g.t, r, a, no, " RUN_STATE_COLUMNS " FROM (SELECT tenant_id AS t FROM agents"
             " WHERE tenant_id = $1 AND agent_id = ($3::bigint[])[1]) g, unnest(" NEW_ARRAYS ")"
             " AS x(r, a, no, " RUN_STATE_COLUMNS ") ORDER BY r"
             " ON CONFLICT (tenant_id, run_id) DO NOTHING",
};
static const struct db_query select_runs = {
    .keeps_plan = true,
    .postgres = "SELECT tenant_id, run_id, run_no, agent_id, " RUN_STATE_COLUMNS " FROM runs"
                " WHERE (tenant_id, run_id) IN (SELECT t, r"
                " FROM unnest($1::bigint[], $2::uuid[]) AS x(t, r))"
                " ORDER BY tenant_id, run_id FOR UPDATE",
    .citus = "SELECT tenant_id, run_id, run_no, agent_id, " RUN_STATE_COLUMNS " FROM runs"
             " WHERE tenant_id = $1 AND run_id = ANY ($2::uuid[]) ORDER BY run_id FOR UPDATE",
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
    .keeps_plan = true,
    .postgres = SET_STATE " FROM unnest($1::bigint[], " RUN_ARRAYS ")"
                " AS x(tenant, no, " RUN_STATE_COLUMNS ", agent)"
                " WHERE tenant_id = x.tenant AND run_no = x.no",
    .citus = SET_STATE " FROM unnest(" RUN_ARRAYS ") AS x(no, " RUN_STATE_COLUMNS ", agent)"
             " WHERE tenant_id = $1 AND run_no = x.no AND run_no = ANY ($2::bigint[])",
};
static const struct db_query delete_runs = {
    .keeps_plan = true,
    .postgres = "DELETE FROM runs WHERE (tenant_id, run_no) IN (SELECT t, r"
                " FROM unnest($1::bigint[], $2::bigint[]) AS x(t, r))",
    .citus = "DELETE FROM runs WHERE tenant_id = $1 AND run_no = ANY ($2::bigint[])",
};
static const struct db_query select_run_no = {
    .postgres = "SELECT run_no FROM runs WHERE tenant_id = $1 AND run_id = $2 AND event_count > 0",
};
/* clang-format on */

/* The arrays as arguments; the first is that of the tenants. */
static void take_args(const struct addition *a, struct pg_arrays *arrays, struct db_value *ret)
{
    pg_arrays_args(arrays, ret);
    if (a->one_tenant)
        ret[0] = db_int(a->items[0].tenant_id);
}

static struct str key_of(struct arena *arena, int64_t tenant_id, struct str id)
{
    char *key = arena_alloc(arena, sizeof(tenant_id) + id.len);

    memcpy(key, &tenant_id, sizeof(tenant_id));
    memcpy(key + sizeof(tenant_id), id.data, id.len);
    return str_from(key, sizeof(tenant_id) + id.len);
}

static uint64_t hash_of(int64_t tenant_id, struct str run_id)
{
    return digest_sip(run_id) ^ (uint64_t)tenant_id * 0x9e3779b97f4a7c15U;
}

static void set_known(struct runs_known *known, uint64_t hash, int64_t run_no, int64_t n_events)
{
    const size_t place = hash % RUNS_KNOWN;

    atomic_store_explicit(&known->places[place].run_no, run_no, memory_order_relaxed);
    atomic_store_explicit(&known->places[place].n_events, n_events, memory_order_relaxed);
    atomic_store_explicit(&known->places[place].hash, hash, memory_order_relaxed);
}

/* The run is committed, with this number of events. */
static void known_add(struct runs_known *known, const struct event_item *item)
{
    assert(item->run_no > 0 && item->run_events > 0);
    set_known(known, hash_of(item->tenant_id, item->event->run_id), item->run_no, item->run_events);
}

static void known_find(struct runs_known *known, struct run_slot *slot)
{
    const uint64_t hash = hash_of(slot->tenant_id, slot->run_id);
    const size_t place = hash % RUNS_KNOWN;

    if (atomic_load_explicit(&known->places[place].hash, memory_order_relaxed) != hash)
        return;
    slot->known_no = atomic_load_explicit(&known->places[place].run_no, memory_order_relaxed);
    slot->known_events = atomic_load_explicit(&known->places[place].n_events, memory_order_relaxed);
}

/* Can the number of every run be guessed: from the cache or, for runs that seem to be new, the
 * number offered for the new row? */
static bool can_guess(struct addition *a)
{
    bool all = true;

    for (size_t i = 0; i < a->n_runs; i++) {
        struct run_slot *slot = &a->runs[i];

        known_find(&a->log->known, slot);
        all = all && (slot->known_no != 0 || slot->starts);
    }
    return all;
}

/* Inserts the runs that may be new, with what is predicted. */
static int insert_new(struct addition *a, struct error *err)
{
    struct db_value values[RUN_KEYS_N + RUN_STATE_N];
    int r = 0;
    PG_ARRAYS_SCOPED(arrays, COUNT_OF(values), a->arena);

    for (size_t i = 0; i < a->n_runs; i++) {
        struct run_slot *slot = &a->runs[i];

        if (slot->run_no != 0 || slot->known_no != 0)
            continue;
        slot->new_no = db_number(a->db);
        values[0] = db_int(slot->tenant_id);
        values[1] = db_text(slot->run_id);
        values[2] = db_int(slot->agent_id);
        values[3] = db_int(slot->new_no);
        run_row_values(&slot->predicted, values + RUN_KEYS_N);
        pg_arrays_add(&arrays, values);
    }
    take_args(a, &arrays, values);
    if (arrays.n_rows > 0)
        r = db_run_later(a->db, &insert_runs, DB_ARGS_OF(values), err);
    return r;
}

/* The row of a run that this transaction has inserted holds predicted values: none of its events is
 * stored yet. */
static bool read_run(void *ctx, const struct db_row *row)
{
    struct addition *a = ctx;
    struct str key = key_of(a->arena, db_get_int(row, 0), db_get_text(row, 1));
    struct run_slot *slot = map_get(&a->runs_by_key, key);

    if (slot == NULL)
        return true;
    slot->run_no = db_get_int(row, 2);
    if (slot->run_no == slot->new_no || db_get_int(row, 4) == 0) {
        run_state_init(&slot->state);
        return true;
    }
    slot->new_no = 0;
    slot->agent_id = db_get_int(row, 3);
    run_row_read(row, 4, a->arena, &slot->state);
    return true;
}

/* Exactly db_exec() or db_exec_later(). */
typedef int exec_fn(struct db *db, const struct db_query *q, struct db_args args, db_row_fn *on_row,
                    void *ctx, struct error *err);

static int lock_all(struct addition *a, exec_fn *exec, struct error *err)
{
    struct db_value args[2];
    PG_ARRAYS_SCOPED(arrays, COUNT_OF(args), a->arena);

    for (size_t i = 0; i < a->n_runs; i++) {
        const struct db_value row[] = { db_int(a->runs[i].tenant_id), db_text(a->runs[i].run_id) };

        pg_arrays_add(&arrays, row);
    }
    take_args(a, &arrays, args);
    return exec(a->db, &select_runs, DB_ARGS_OF(args), read_run, a, err);
}

/* The group is tried again, and knows of its runs what turned out to be so: there may be more
 * tenants with wrong guesses than `doubts` covers. */
static int try_again(struct addition *a, const char *text, struct error *err)
{
    for (size_t i = 0; i < a->n_runs; i++) {
        const struct run_slot *slot = &a->runs[i];
        const bool is_stored = slot->run_no != 0 && slot->run_no != slot->new_no;

        set_known(&a->log->known, hash_of(slot->tenant_id, slot->run_id),
                  is_stored ? slot->run_no : 0, is_stored ? slot->state.event_count : 0);
    }
    return db_contended(a->db, text, err);
}

static int lock_runs(struct addition *a, struct error *err)
{
    if (insert_new(a, err) != 0 || lock_all(a, db_exec, err) != 0)
        return -1;
    for (size_t i = 0; i < a->n_runs; i++)
        if (a->runs[i].run_no == 0)
            return try_again(a, "a run was deleted while its events were being stored", err);
    return 0;
}

/* The same, but sent together with the next statement, which uses guessed run numbers. */
static int lock_later(struct addition *a, struct error *err)
{
    if (insert_new(a, err) != 0 || lock_all(a, db_exec_later, err) != 0)
        return -1;
    for (size_t i = 0; i < a->n_runs; i++) {
        struct run_slot *slot = &a->runs[i];

        slot->assumed_no = slot->known_no != 0 ? slot->known_no : slot->new_no;
    }
    return 0;
}

/* Were all guessed numbers right? And has no other writer added events to these runs meanwhile,
 * whose numbers could be greater than those just inserted? */
static bool are_as_assumed(const struct addition *a)
{
    for (size_t i = 0; i < a->n_runs; i++) {
        const struct run_slot *slot = &a->runs[i];

        if (slot->run_no != slot->assumed_no ||
            (slot->run_no != slot->new_no && slot->state.event_count != slot->known_events))
            return false;
    }
    return true;
}

/* Writes states that are not stored yet; deletes runs that were inserted for duplicates only. Skips
 * new runs of which every event was stored: their rows already hold the predicted state. */
static int save_runs(struct addition *a, struct error *err)
{
    struct db_value values[3 + RUN_STATE_N], args[2];
    PG_ARRAYS_SCOPED(saved, COUNT_OF(values), a->arena);
    PG_ARRAYS_SCOPED(empty, COUNT_OF(args), a->arena);

    for (size_t i = 0; i < a->n_runs; i++) {
        const struct run_slot *slot = &a->runs[i];

        assert(slot->stored <= slot->expected);
        values[0] = db_int(slot->tenant_id);
        values[1] = db_int(slot->run_no);
        run_row_values(&slot->state, values + 2);
        values[2 + RUN_STATE_N] = db_int(slot->agent_id);
        if (slot->stored > 0 && (slot->run_no != slot->new_no || slot->stored != slot->expected))
            pg_arrays_add(&saved, values);
        else if (slot->state.event_count == 0)
            pg_arrays_add(&empty, values);
    }
    take_args(a, &saved, values);
    take_args(a, &empty, args);
    if (saved.n_rows > 0 && db_run_later(a->db, &update_runs, DB_ARGS_OF(values), err) != 0)
        return -1;
    return empty.n_rows > 0 ? db_run_later(a->db, &delete_runs, DB_ARGS_OF(args), err) : 0;
}

/* --- the events --- */

/* Finds the items to insert and their runs. They count as duplicates until insert_all(). */
static void assign_slots(struct addition *a)
{
    for (size_t i = 0; i < a->n; i++) {
        struct event_item *item = &a->items[i];
        struct str event_key = key_of(a->arena, item->tenant_id, item->event->event_id);
        struct str run_key = key_of(a->arena, item->tenant_id, item->event->run_id);
        struct run_slot *slot = map_get(&a->runs_by_key, run_key);

        item->duplicate = !item->no_room;
        if (item->no_room)
            continue;
        if (item->event->event_id.len > 0) {
            if (map_get(&a->events, event_key) != NULL)
                continue;
            map_put(&a->events, event_key, item);
        }
        if (slot == NULL) {
            assert(a->n_runs < a->n);
            slot = &a->runs[a->n_runs++];
            *slot = (struct run_slot){ .tenant_id = item->tenant_id,
                                       .agent_id = item->agent_id,
                                       .run_id = item->event->run_id,
                                       .starts = item->event->event == EVENT_STARTED };
            run_state_init(&slot->predicted);
            map_put(&a->runs_by_key, run_key, slot);
        }
        if (run_state_is_of(&slot->predicted, item->event))
            slot->agent_id = item->agent_id;
        run_state_add(&slot->predicted, item->event);
        slot->expected++;
        a->slot_of[i] = slot;
    }
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

    (void)map_put(&a->known, key_of(a->arena, db_get_int(row, 0), db_get_text(row, 1)), a);
    return true;
}

/* Must the database be queried for a stored event with this id? Yes if the item has no room, or if
 * its insert returned no row: that need not be a conflict of ids, since two events get the same
 * number when a clock was set back. */
static bool is_asked_for(const struct addition *a, size_t i)
{
    return a->items[i].no_room || (a->slot_of[i] != NULL && a->items[i].duplicate);
}

/* Reads which of these events are stored, including those that this call inserted. */
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

/* Marks the duplicates among the items that were not inserted. */
static int find_known(struct addition *a, struct error *err)
{
    if (select_stored(a, err) != 0)
        return -1;
    for (size_t i = 0; i < a->n; i++) {
        struct event_item *item = &a->items[i];
        const struct str key = key_of(a->arena, item->tenant_id, item->event->event_id);

        if (!is_asked_for(a, i))
            continue;
        item->duplicate = map_get(&a->known, key) != NULL;
        if (!item->duplicate && !item->no_room)
            return db_contended(a->db, "an event number was already in use", err);
    }
    return 0;
}

/* May the events be inserted in the round trip that locks their runs, with guessed run numbers? */
static bool is_sure(struct addition *a)
{
    unsigned doubts = atomic_load_explicit(&a->log->doubts, memory_order_relaxed);

    if (doubts > 0)
        (void)atomic_compare_exchange_strong(&a->log->doubts, &doubts, doubts - 1);
    return can_guess(a) && doubts == 0;
}

/* Nothing was inserted, and all runs are there: a wrong guess did no harm. */
static bool has_duplicates_only(const struct addition *a)
{
    for (size_t i = 0; i < a->n; i++)
        if (!a->items[i].no_room && !a->items[i].duplicate)
            return false;
    for (size_t i = 0; i < a->n_runs; i++)
        if (a->runs[i].run_no == 0)
            return false;
    return true;
}

/* Locks the runs of the events, and inserts these. */
static int lock_and_insert(struct addition *a, struct error *err)
{
    if (!is_sure(a))
        return lock_runs(a, err) == 0 ? insert_all(a, err) : -1;
    if (lock_later(a, err) != 0 || insert_all(a, err) != 0)
        return -1;
    if (are_as_assumed(a) || has_duplicates_only(a))
        return 0;
    /* Another node has stored events of a run, or it was deleted: the next try locks first. */
    atomic_store_explicit(&a->log->doubts, DOUBTS, memory_order_relaxed);
    return try_again(a, "another node has stored events of the same runs", err);
}

static int add_new(struct addition *a, struct error *err)
{
    if (a->n_runs == 0)
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
    return save_runs(a, err);
}

static int add_all(struct addition *a, struct error *err)
{
    assign_slots(a);
    return add_new(a, err) == 0 ? find_known(a, err) : -1;
}

static int add_items(struct postgres_log *log, struct db *db, struct event_item *items, size_t n,
                     struct arena *arena, struct error *err)
{
    struct addition a = { .log = log,
                          .db = db,
                          .arena = arena,
                          .items = items,
                          .n = n,
                          .one_tenant = db_is_distributed(db),
                          .slot_of = ARENA_ARRAY(arena, struct run_slot *, n),
                          .numbered = ARENA_ARRAY(arena, struct numbered_item, n),
                          .runs = ARENA_ARRAY(arena, struct run_slot, n) };
    int r;

    map_init(&a.runs_by_key);
    map_init(&a.events);
    map_init(&a.known);
    r = add_all(&a, err);
    map_done(&a.runs_by_key);
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
static int add_by_tenant(struct postgres_log *log, struct db *db, struct event_item *items,
                         size_t n, struct arena *arena, struct error *err)
{
    struct event_item **places = ARENA_ARRAY(arena, struct event_item *, n);
    struct event_item *own = ARENA_ARRAY(arena, struct event_item, n);

    for (size_t i = 0; i < n; i++)
        places[i] = &items[i];
    qsort((void *)places, n, sizeof(struct event_item *), compare_places);
    for (size_t i = 0; i < n; i++)
        own[i] = *places[i];
    for (size_t first = 0, end = 0; first < n; first = end) {
        while (end < n && own[end].tenant_id == own[first].tenant_id)
            end++;
        if (add_items(log, db, own + first, end - first, arena, err) != 0)
            return -1;
    }
    for (size_t i = 0; i < n; i++)
        *places[i] = own[i];
    return 0;
}

static int postgres_log_add(struct event_log *log, struct db *db, struct event_item *items,
                            size_t n, struct arena *arena, struct error *err)
{
    struct postgres_log *own = CONTAINER_OF(log, struct postgres_log, base);

    return (db_is_distributed(db) ? add_by_tenant : add_items)(own, db, items, n, arena, err);
}

static int postgres_log_find_run(struct event_log *log, struct db *db, int64_t tenant_id,
                                 struct str run_id, int64_t *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(run_id));

    (void)log;
    return db_exec_int(db, &select_run_no, args, ret, err);
}

/* What is kept in memory is no part of a transaction. */
static int postgres_log_save(struct event_log *log, struct db *db, struct error *err)
{
    (void)log;
    (void)db;
    (void)err;
    return 0;
}

static void postgres_log_committed(struct event_log *log, const struct event_item *items, size_t n)
{
    struct postgres_log *own = CONTAINER_OF(log, struct postgres_log, base);

    for (size_t i = 0; i < n; i++)
        if (event_item_is_stored(&items[i]))
            known_add(&own->known, &items[i]);
}

static void postgres_log_rolled_back(struct event_log *log)
{
    (void)log;
}

static void postgres_log_forget(struct event_log *log)
{
    (void)log;
}

static void postgres_log_run_gone(struct event_log *log, int64_t tenant_id, struct str run_id)
{
    (void)log;
    (void)tenant_id;
    (void)run_id;
}

static void postgres_log_free(struct event_log *log)
{
    free(CONTAINER_OF(log, struct postgres_log, base));
}

static const struct event_log_methods postgres_methods = {
    .free = postgres_log_free,
    .add = postgres_log_add,
    .save = postgres_log_save,
    .committed = postgres_log_committed,
    .rolled_back = postgres_log_rolled_back,
    .forget = postgres_log_forget,
    .run_gone = postgres_log_run_gone,
    .find_run = postgres_log_find_run,
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

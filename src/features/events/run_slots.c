/* run_slots.c - inserts, locks and saves runs, in a few statements for all of them. */
#include "features/events/run_slots.h"

#include <assert.h>
#include <string.h>

#include "base/digest.h"
#include "db/lists.h"
#include "db/servers.h"
#include "features/events/event_log.h"
#include "features/events/run_state.h"
#include "features/events/shapes.h"

enum { RUN_KEYS_N = 4 }; /* tenant_id, run_id, agent_id, run_no */

/* clang-format off */
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
/* clang-format on */

struct str run_slots_key(struct arena *arena, int64_t tenant_id, struct str id)
{
    char *key = arena_alloc(arena, sizeof(tenant_id) + id.len);

    memcpy(key, &tenant_id, sizeof(tenant_id));
    memcpy(key + sizeof(tenant_id), id.data, id.len);
    return str_from(key, sizeof(tenant_id) + id.len);
}

/* The arrays as arguments; the first is that of the tenants. */
static void take_args(const struct run_slots *s, struct pg_arrays *arrays, struct db_value *ret)
{
    pg_arrays_args(arrays, ret);
    if (s->one_tenant)
        ret[0] = db_int(s->items[0].tenant_id);
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

void runs_known_add(struct runs_known *known, const struct event_item *item)
{
    assert(item->run_no > 0 && item->run_events > 0);
    set_known(known, hash_of(item->tenant_id, item->event->run_id), item->run_no, item->run_events);
}

static void find_known(struct runs_known *known, struct run_slot *slot)
{
    const uint64_t hash = hash_of(slot->tenant_id, slot->run_id);
    const size_t place = hash % RUNS_KNOWN;

    if (atomic_load_explicit(&known->places[place].hash, memory_order_relaxed) != hash)
        return;
    slot->known_no = atomic_load_explicit(&known->places[place].run_no, memory_order_relaxed);
    slot->known_events = atomic_load_explicit(&known->places[place].n_events, memory_order_relaxed);
}

static void forget_known(struct runs_known *known, const struct run_slot *slot)
{
    set_known(known, hash_of(slot->tenant_id, slot->run_id), 0, 0);
}

bool run_slots_foresee(struct run_slots *s)
{
    bool all = true;

    for (size_t i = 0; i < s->n; i++) {
        struct run_slot *slot = &s->items[i];

        find_known(s->known, slot);
        all = all && (slot->known_no != 0 || slot->starts);
    }
    return all;
}

static int insert_new(struct run_slots *s, struct error *err)
{
    struct db_value values[RUN_KEYS_N + RUN_STATE_N];
    int r = 0;
    PG_ARRAYS_SCOPED(arrays, COUNT_OF(values), s->arena);

    for (size_t i = 0; i < s->n; i++) {
        struct run_slot *slot = &s->items[i];

        if (slot->run_no != 0 || slot->known_no != 0)
            continue;
        slot->new_no = db_number(s->db);
        values[0] = db_int(slot->tenant_id);
        values[1] = db_text(slot->run_id);
        values[2] = db_int(slot->agent_id);
        values[3] = db_int(slot->new_no);
        run_row_values(&slot->foreseen, values + RUN_KEYS_N);
        pg_arrays_add(&arrays, values);
    }
    take_args(s, &arrays, values);
    if (arrays.n_rows > 0)
        r = db_run_later(s->db, &insert_runs, DB_ARGS_OF(values), err);
    return r;
}

/* Of a run that this transaction has inserted the row says what is foreseen: nothing is stored of
 * it yet. */
static bool read_run(void *ctx, const struct db_row *row)
{
    struct run_slots *s = ctx;
    struct str key = run_slots_key(s->arena, db_get_int(row, 0), db_get_text(row, 1));
    struct run_slot *slot = map_get(&s->by_key, key);

    if (slot == NULL)
        return true;
    slot->run_no = db_get_int(row, 2);
    if (slot->run_no == slot->new_no || db_get_int(row, 4) == 0) {
        run_state_init(&slot->state);
        return true;
    }
    slot->new_no = 0;
    slot->agent_id = db_get_int(row, 3);
    run_row_read(row, 4, s->arena, &slot->state);
    return true;
}

/* Exactly db_exec() or db_exec_later(). */
typedef int exec_fn(struct db *db, const struct db_query *q, struct db_args args, db_row_fn *on_row,
                    void *ctx, struct error *err);

static int lock_all(struct run_slots *s, exec_fn *exec, struct error *err)
{
    struct db_value args[2];
    PG_ARRAYS_SCOPED(arrays, COUNT_OF(args), s->arena);

    for (size_t i = 0; i < s->n; i++) {
        const struct db_value row[] = { db_int(s->items[i].tenant_id),
                                        db_text(s->items[i].run_id) };

        pg_arrays_add(&arrays, row);
    }
    take_args(s, &arrays, args);
    return exec(s->db, &select_runs, DB_ARGS_OF(args), read_run, s, err);
}

/* Forgets runs that are not there. */
static bool any_is_missing(struct run_slots *s)
{
    bool any = false;

    for (size_t i = 0; i < s->n; i++) {
        if (s->items[i].run_no != 0)
            continue;
        forget_known(s->known, &s->items[i]);
        s->items[i].known_no = 0;
        any = true;
    }
    return any;
}

int run_slots_lock(struct run_slots *s, struct error *err)
{
    if (insert_new(s, err) != 0 || lock_all(s, db_exec, err) != 0)
        return -1;
    if (!any_is_missing(s))
        return 0;
    /* Deleted since they were seen: once more, as if they were new. */
    if (insert_new(s, err) != 0 || lock_all(s, db_exec, err) != 0)
        return -1;
    return any_is_missing(s) /* deleted since the insert: their events would be lost */
               ? err_set(err, ERR_BUSY, "a run was deleted while its events were being stored")
               : 0;
}

int run_slots_lock_later(struct run_slots *s, struct error *err)
{
    if (insert_new(s, err) != 0 || lock_all(s, db_exec_later, err) != 0)
        return -1;
    for (size_t i = 0; i < s->n; i++) {
        struct run_slot *slot = &s->items[i];

        slot->assumed_no = slot->known_no != 0 ? slot->known_no : slot->new_no;
    }
    return 0;
}

static bool is_as_assumed(const struct run_slot *slot)
{
    return slot->run_no == slot->assumed_no &&
           (slot->run_no == slot->new_no || slot->state.event_count == slot->known_events);
}

bool run_slots_confirm(struct run_slots *s)
{
    bool all = true;

    for (size_t i = 0; i < s->n; i++)
        all = all && is_as_assumed(&s->items[i]);
    for (size_t i = 0; !all && i < s->n; i++)
        s->items[i].assumed_no = 0;
    return all;
}

bool run_slots_are_there(const struct run_slots *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->items[i].run_no == 0)
            return false;
    return true;
}

/* Is the row of this run already as it must be? */
static bool is_as_foreseen(const struct run_slot *slot)
{
    return slot->run_no == slot->new_no && slot->stored == slot->expected;
}

int run_slots_save(struct run_slots *s, struct error *err)
{
    struct db_value values[3 + RUN_STATE_N], args[2];
    PG_ARRAYS_SCOPED(saved, COUNT_OF(values), s->arena);
    PG_ARRAYS_SCOPED(empty, COUNT_OF(args), s->arena);

    for (size_t i = 0; i < s->n; i++) {
        const struct run_slot *slot = &s->items[i];

        assert(slot->stored <= slot->expected);
        values[0] = db_int(slot->tenant_id);
        values[1] = db_int(slot->run_no);
        run_row_values(&slot->state, values + 2);
        values[2 + RUN_STATE_N] = db_int(slot->agent_id);
        if (slot->stored > 0 && !is_as_foreseen(slot))
            pg_arrays_add(&saved, values);
        else if (slot->state.event_count == 0)
            pg_arrays_add(&empty, values);
    }
    take_args(s, &saved, values);
    take_args(s, &empty, args);
    if (saved.n_rows > 0 && db_run_later(s->db, &update_runs, DB_ARGS_OF(values), err) != 0)
        return -1;
    return empty.n_rows > 0 ? db_run_later(s->db, &delete_runs, DB_ARGS_OF(args), err) : 0;
}

/* event_log_sqlite.c - appends events in order of arrival; finds them by extents and id index.
 *
 * Nothing here writes to random pages: events and runs get increasing numbers,
 * an extent is a range of consecutive events of one run, and random ids go
 * through ids.h. Within one transaction the events of a run are stored
 * together, so that a batch adds one extent per run.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/thread.h"
#include "base/uuid.h"
#include "db/db.h"
#include "features/events/event_log.h"
#include "features/events/event_rows.h"
#include "features/events/ids/id_table.h"
#include "features/events/ids/ids.h"
#include "features/events/run_state.h"
#include "features/events/shapes.h"
#include "features/metrics.h"

/* --- runs in memory --- */

enum {
    CACHED_N = 8192,
    TEXT_MAX = 2048, /* bytes of all strings of a run; runs with more are not cached */
    STRINGS = 7,     /* list_strings(): six strings and a NULL */
};

/* A string that list_strings() does not list would stay in memory that is freed. */
static_assert(
    sizeof(struct run_state) == (STRINGS - 1) * sizeof(struct str) + 3 * sizeof(struct run_moment) +
                                    2 * sizeof(struct opt_int) + 5 * sizeof(int64_t),
    "struct run_state has changed: list a new string in list_strings(), then mend this sum");

struct cached_run {
    uint64_t hash;
    int64_t tenant_id, run_no; /* run_no 0: free */
    char run_id[UUID_TEXT_LEN];
    struct run_state state; /* its strings are in `text` */
    char *text;
    size_t text_room;
};

/* Recently written runs: most events belong to a run that had another event a moment ago, whose
 * number and state need not be read again. One place per hash, in which the newest run replaces the
 * last. It is cleared when a transaction that put runs into it is rolled back, and when other code
 * changes runs. */
struct run_cache {
    struct cached_run *slots; /* allocated with the first run */
};

/* `hash` is that of tenant and id together. */
struct run_cache_key {
    uint64_t hash;
    int64_t tenant_id;
    struct str run_id;
};

static void run_cache_done(struct run_cache *c)
{
    for (size_t i = 0; c->slots != NULL && i < CACHED_N; i++)
        free(c->slots[i].text);
    free(c->slots);
}

static void run_cache_clear(struct run_cache *c)
{
    for (size_t i = 0; c->slots != NULL && i < CACHED_N; i++)
        c->slots[i].run_no = 0;
}

static void list_strings(struct run_state *s, struct str *ret[STRINGS])
{
    ret[0] = &s->workflow_run_id;
    ret[1] = &s->error_type;
    ret[2] = &s->error_message;
    ret[3] = &s->closing_message;
    ret[4] = &s->step_message;
    ret[5] = &s->agent_version;
    ret[6] = NULL;
}

/* Copies the strings of `s` to `text`, one after another, and points `s` to the copies. */
static void move_strings(struct run_state *s, char *text)
{
    struct str *strings[STRINGS];

    list_strings(s, strings);
    for (size_t i = 0; strings[i] != NULL; i++) {
        if (str_is_null(*strings[i]))
            continue;
        memcpy(text, strings[i]->data, strings[i]->len);
        strings[i]->data = text;
        text += strings[i]->len;
    }
}

static size_t text_size(struct run_state s)
{
    struct str *strings[STRINGS];
    size_t size = 0;

    list_strings(&s, strings);
    for (size_t i = 0; strings[i] != NULL; i++)
        size += strings[i]->len;
    return size;
}

/* NULL when the run is not cached. */
static struct cached_run *find_cached(const struct run_cache *c, const struct run_cache_key *key)
{
    struct cached_run *p;

    if (c->slots == NULL)
        return NULL;
    p = &c->slots[key->hash % CACHED_N];
    if (p->run_no == 0 || p->hash != key->hash || p->tenant_id != key->tenant_id ||
        !str_eq(str_from(p->run_id, UUID_TEXT_LEN), key->run_id))
        return NULL;
    return p;
}

static void run_cache_remove(struct run_cache *c, const struct run_cache_key *key)
{
    struct cached_run *p = find_cached(c, key);

    if (p != NULL)
        p->run_no = 0;
}

/* The run's number, and its state with strings in the arena; 0 when it is not cached. */
static int64_t run_cache_get(const struct run_cache *c, const struct run_cache_key *key,
                             struct arena *arena, struct run_state *ret)
{
    const struct cached_run *p = find_cached(c, key);

    if (p == NULL)
        return 0;
    *ret = p->state;
    move_strings(ret, arena_alloc(arena, text_size(*ret)));
    return p->run_no;
}

static void run_cache_put(struct run_cache *c, const struct run_cache_key *key, int64_t run_no,
                          const struct run_state *state)
{
    size_t size = text_size(*state);
    struct cached_run *p;

    if (c->slots == NULL)
        c->slots = mem_new(CACHED_N * sizeof(*c->slots));
    p = &c->slots[key->hash % CACHED_N];
    assert(run_no > 0); /* 0 marks a free place */
    p->run_no = 0;
    if (size > TEXT_MAX || key->run_id.len != UUID_TEXT_LEN)
        return;
    if (size >= p->text_room) { /* never 0 bytes: empty strings need an address too */
        free(p->text);
        p->text_room = size + 1;
        p->text = mem_new(p->text_room);
    }
    p->hash = key->hash;
    p->tenant_id = key->tenant_id;
    memcpy(p->run_id, key->run_id.data, UUID_TEXT_LEN);
    p->state = *state;
    ASSERT_ALWAYS(size < p->text_room);
    move_strings(&p->state, p->text);
    p->run_no = run_no;
}

/* --- the log --- */

struct sqlite_log {
    struct event_log base;
    struct ids *ids;
    struct run_cache runs;
    int64_t next_event_no, next_run_no;           /* of the current transaction */
    int64_t committed_event_no, committed_run_no; /* after the last commit */
};

/* A run that has events among the items. */
struct run_slot {
    uint64_t hash;
    int64_t tenant_id, agent_id, run_no;
    struct str run_id;
    bool is_new;
    bool moves; /* to this agent, if it is not new and was another's */
    struct run_state state;
    size_t first_item, last_item; /* linked through `next` */
};

/* One call of add(). */
struct addition {
    struct sqlite_log *log;
    struct db *db;
    struct arena *arena;
    struct event_item *items;
    size_t n;
    uint64_t *hashes; /* of event ids */
    size_t *next;     /* the next item of the same run; n at the end */
    struct run_slot *slots;
    size_t n_slots;
    struct id_table events, runs; /* hash -> index + 1 of items and slots */
};

/* clang-format off */
DB_QUERY(select_next_event_no,
    "SELECT 1 + MAX(number, (SELECT COALESCE(MAX(event_no), 0) FROM events))"
    " FROM change_numbers WHERE topic = 'event_no'");
DB_QUERY(select_next_run_no,
    "SELECT 1 + MAX(number, (SELECT COALESCE(MAX(run_no), 0) FROM runs))"
    " FROM change_numbers WHERE topic = 'run_no'");
DB_QUERY(select_event_id,
    "SELECT e.tenant_id, " EVENT_ID_SQLITE " FROM events e WHERE e.event_no = $1");
DB_QUERY(select_run_id, "SELECT tenant_id, run_id FROM runs WHERE run_no = $1");
DB_QUERY(select_state, "SELECT " RUN_STATE_COLUMNS " FROM runs WHERE run_no = $1");
DB_QUERY(insert_run,
    "INSERT INTO runs (run_no, tenant_id, run_id, agent_id, " RUN_STATE_COLUMNS ")"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,"
    " $18, $19, $20, $21, $22, $23, $24)");
DB_QUERY(update_run,
    "UPDATE runs SET (" RUN_STATE_COLUMNS ") ="
    " ($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,"
    " $20, $21) WHERE run_no = $1");
/* The same for a run whose indexed columns do not change, as is the case for nearly all: SQLite
 * updates every index of a column that is set, even to the same value. */
DB_QUERY(update_run_in_place,
    "UPDATE runs SET (event_count, first_at, last_at, started_at, closing_at, closing_seq,"
    " closing_event, duration_ms, records_processed, error_type, error_message,"
    " closing_message, step_at, step_seq, step_message, version_at, version_seq,"
    " agent_version) = ($2, $4, $5, $6, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,"
    " $19, $20, $21) WHERE run_no = $1 AND start_at = $3 AND workflow_run_id IS $7");
DB_QUERY(move_run, "UPDATE runs SET agent_id = $2 WHERE run_no = $1 AND agent_id <> $2");
DB_QUERY(insert_extent, "INSERT INTO run_extents (run_no, first_event_no, n) VALUES ($1, $2, $3)");
/* clang-format on */

/* The id that a candidate of the index is compared with. */
struct wanted {
    const struct db_query *query;
    int64_t tenant_id;
    struct str id;
    bool same;
};

static bool event_log_compare_row(void *ctx, const struct db_row *row)
{
    struct wanted *w = ctx;

    w->same = db_get_int(row, 0) == w->tenant_id && str_eq(db_get_text(row, 1), w->id);
    return false;
}

static int event_log_is_same(void *ctx, struct db *db, int64_t number, bool *ret_same,
                             struct error *err)
{
    struct wanted *w = ctx;
    const struct db_args args = DB_ARGS(db_int(number));

    w->same = false;
    if (db_exec(db, w->query, args, event_log_compare_row, w, err) != 0)
        return -1;
    *ret_same = w->same;
    return 0;
}

/* The number of the event or run, stored by this transaction or an earlier one; or 0. */
static int find_number(struct addition *a, uint64_t hash, struct wanted *w, int64_t *ret,
                       struct error *err)
{
    const struct ids_query query = { hash, event_log_is_same, w };
    size_t at = 0;

    while ((*ret = ids_pending(a->log->ids, hash, &at)) != 0) {
        bool same;

        if (event_log_is_same(w, a->db, *ret, &same, err) != 0)
            return -1;
        if (same)
            return 0;
    }
    return ids_find(a->log->ids, a->db, &query, ret, err);
}

/* Does an earlier item of this call have the same event_id? */
static bool is_repeated(const struct addition *a, size_t i)
{
    const struct event_item *item = &a->items[i];
    size_t at = 0;
    int64_t other;

    while ((other = id_table_next(&a->events, a->hashes[i], &at)) != 0) {
        const struct event_item *earlier = &a->items[other - 1];

        if (earlier->tenant_id == item->tenant_id &&
            str_eq(earlier->event->event_id, item->event->event_id))
            return true;
    }
    return false;
}

/* Marks the items that are stored already. They are looked for in the order of their hashes, in
 * which the blocks of every filter lie too: with 120 million events that takes an eighth of the
 * writer's time off. */
static int mark_stored(struct addition *a, struct error *err)
{
    struct id_entry *entries = ARENA_ARRAY(a->arena, struct id_entry, 2 * a->n);
    struct id_entry *sorted = entries + a->n;
    size_t n = 0;

    for (size_t i = 0; i < a->n; i++) {
        struct event_item *item = &a->items[i];

        item->duplicate = false;
        if (item->event->event_id.len == 0)
            continue;
        a->hashes[i] = ids_hash(a->log->ids, ID_EVENT, item->tenant_id, item->event->event_id);
        entries[n++] = (struct id_entry){ a->hashes[i], (int64_t)i };
    }
    id_sort(entries, n, sorted);
    for (size_t i = 0; i < n; i++) {
        struct event_item *item = &a->items[sorted[i].number];
        struct wanted w = { &select_event_id, item->tenant_id, item->event->event_id, false };
        int64_t number;

        if (find_number(a, sorted[i].hash, &w, &number, err) != 0)
            return -1;
        item->duplicate = number != 0;
    }
    return 0;
}

/* Of items with the same event_id the first is stored. */
static void mark_repeated(struct addition *a, size_t i)
{
    struct event_item *item = &a->items[i];

    if (item->event->event_id.len == 0)
        return;
    item->duplicate = item->duplicate || is_repeated(a, i);
    if (event_item_is_stored(item))
        id_table_add(&a->events, a->hashes[i], (int64_t)i + 1);
}

struct state_reader {
    struct arena *arena;
    struct run_state *state;
};

static bool event_log_read_state(void *ctx, const struct db_row *row)
{
    struct state_reader *reader = ctx;

    run_row_read(row, 0, reader->arena, reader->state);
    return false;
}

/* Fills in number and state of a run that is new to this call. */
static int open_slot(struct addition *a, struct run_slot *slot, struct error *err)
{
    const struct run_cache_key key = { slot->hash, slot->tenant_id, slot->run_id };
    struct wanted w = { &select_run_id, slot->tenant_id, slot->run_id, false };
    struct state_reader reader = { a->arena, &slot->state };

    slot->run_no = run_cache_get(&a->log->runs, &key, a->arena, &slot->state);
    metric_add(slot->run_no != 0 ? METRIC_RUN_CACHE_HITS : METRIC_RUN_CACHE_MISSES, 1);
    if (slot->run_no != 0)
        return 0;
    run_state_init(&slot->state);
    if (find_number(a, slot->hash, &w, &slot->run_no, err) != 0)
        return -1;
    slot->is_new = slot->run_no == 0;
    if (slot->is_new) {
        slot->run_no = a->log->next_run_no++;
        ids_add(a->log->ids, slot->hash, slot->run_no);
        return 0;
    }
    return db_exec(a->db, &select_state, DB_ARGS(db_int(slot->run_no)), event_log_read_state,
                   &reader, err);
}

static struct run_slot *known_slot(const struct addition *a, uint64_t hash,
                                   const struct event_item *item)
{
    size_t at = 0;
    int64_t index;

    while ((index = id_table_next(&a->runs, hash, &at)) != 0) {
        struct run_slot *slot = &a->slots[index - 1];

        if (slot->tenant_id == item->tenant_id && str_eq(slot->run_id, item->event->run_id))
            return slot;
    }
    return NULL;
}

/* Appends item `i` to its run's list. */
static int join_run(struct addition *a, size_t i, struct error *err)
{
    const struct event_item *item = &a->items[i];
    uint64_t hash = ids_hash(a->log->ids, ID_RUN, item->tenant_id, item->event->run_id);
    struct run_slot *slot = known_slot(a, hash, item);

    a->next[i] = a->n;
    if (slot != NULL) {
        a->next[slot->last_item] = i;
        slot->last_item = i;
        return 0;
    }
    assert(a->n_slots < a->n); /* at most one run per item */
    slot = &a->slots[a->n_slots];
    *slot = (struct run_slot){ .hash = hash,
                               .tenant_id = item->tenant_id,
                               .agent_id = item->agent_id,
                               .run_id = item->event->run_id,
                               .first_item = i,
                               .last_item = i };
    if (open_slot(a, slot, err) != 0)
        return -1;
    id_table_add(&a->runs, hash, (int64_t)++a->n_slots);
    return 0;
}

static int write_run(struct addition *a, const struct run_slot *slot, struct error *err)
{
    struct db_value args[4 + RUN_STATE_N] = { db_int(slot->run_no), db_int(slot->tenant_id),
                                              db_text(slot->run_id), db_int(slot->agent_id) };

    run_row_values(&slot->state, args + (slot->is_new ? 4 : 1));
    if (slot->is_new)
        return db_run(a->db, &insert_run, DB_ARGS_OF(args), err);
    if (slot->moves &&
        db_run(a->db, &move_run, DB_ARGS(db_int(slot->run_no), db_int(slot->agent_id)), err) != 0)
        return -1;
    if (db_run(a->db, &update_run_in_place, DB_ARGS_OF(args), err) != 0)
        return -1;
    return db_changes(a->db) > 0 ? 0 : db_run(a->db, &update_run, DB_ARGS_OF(args), err);
}

static int save_run(struct addition *a, const struct run_slot *slot, struct error *err)
{
    if (write_run(a, slot, err) != 0)
        return -1;
    run_cache_put(&a->log->runs,
                  &(struct run_cache_key){ slot->hash, slot->tenant_id, slot->run_id },
                  slot->run_no, &slot->state);
    return 0;
}

/* Stores the run's events with consecutive numbers, then their extent and the run's new state. */
static int store_run(struct addition *a, struct run_slot *slot, struct error *err)
{
    int64_t first = a->log->next_event_no;

    for (size_t i = slot->first_item; i < a->n; i = a->next[i]) {
        const struct event_item *item = &a->items[i];
        int64_t event_no = a->log->next_event_no++;

        assert(event_item_is_stored(item) && item->tenant_id == slot->tenant_id);
        if (event_row_insert(a->db, event_no, slot->run_no, item, err) != 0)
            return -1;
        if (item->event->event_id.len > 0)
            ids_add(a->log->ids, a->hashes[i], event_no);
        if (run_state_is_of(&slot->state, item->event)) {
            slot->agent_id = item->agent_id;
            slot->moves = !slot->is_new;
        }
        run_state_add(&slot->state, item->event);
        a->items[i].run_status = run_state_status(&slot->state);
        a->items[i].run_no = slot->run_no;
        a->items[i].event_no = event_no;
    }
    if (db_run(a->db, &insert_extent,
               DB_ARGS(db_int(slot->run_no), db_int(first), db_int(a->log->next_event_no - first)),
               err) != 0)
        return -1;
    assert(a->log->next_event_no > first && slot->state.event_count > 0);
    return save_run(a, slot, err);
}

static int add_all(struct addition *a, struct error *err)
{
    if (mark_stored(a, err) != 0)
        return -1;
    for (size_t i = 0; i < a->n; i++) {
        mark_repeated(a, i);
        if (event_item_is_stored(&a->items[i]) && join_run(a, i, err) != 0)
            return -1;
    }
    for (size_t i = 0; i < a->n_slots; i++)
        if (store_run(a, &a->slots[i], err) != 0)
            return -1;
    return 0;
}

static int sqlite_log_add(struct event_log *log, struct db *db, struct event_item *items, size_t n,
                          struct arena *arena, struct error *err)
{
    struct addition a = { .log = CONTAINER_OF(log, struct sqlite_log, base),
                          .db = db,
                          .arena = arena,
                          .items = items,
                          .n = n,
                          .hashes = ARENA_ARRAY(arena, uint64_t, n),
                          .next = ARENA_ARRAY(arena, size_t, n),
                          .slots = ARENA_ARRAY(arena, struct run_slot, n) };
    int r;

    assert(thread_may_be("muster-writer"));
    r = add_all(&a, err);
    id_table_done(&a.events);
    id_table_done(&a.runs);
    return r;
}

static int sqlite_log_save(struct event_log *log, struct db *db, struct error *err)
{
    return ids_save(CONTAINER_OF(log, struct sqlite_log, base)->ids, db, err);
}

static void sqlite_log_committed(struct event_log *log, const struct event_item *items, size_t n)
{
    struct sqlite_log *l = CONTAINER_OF(log, struct sqlite_log, base);

    (void)items;
    (void)n;
    assert(l->next_event_no >= l->committed_event_no && l->next_run_no >= l->committed_run_no);
    ids_committed(l->ids);
    l->committed_event_no = l->next_event_no;
    l->committed_run_no = l->next_run_no;
}

static void sqlite_log_rolled_back(struct event_log *log)
{
    struct sqlite_log *l = CONTAINER_OF(log, struct sqlite_log, base);

    ids_rolled_back(l->ids);
    run_cache_clear(&l->runs);
    l->next_event_no = l->committed_event_no;
    l->next_run_no = l->committed_run_no;
}

static void sqlite_log_forget(struct event_log *log)
{
    run_cache_clear(&CONTAINER_OF(log, struct sqlite_log, base)->runs);
}

static void sqlite_log_run_gone(struct event_log *log, int64_t tenant_id, struct str run_id)
{
    struct sqlite_log *l = CONTAINER_OF(log, struct sqlite_log, base);

    run_cache_remove(&l->runs, &(struct run_cache_key){ ids_hash(l->ids, ID_RUN, tenant_id, run_id),
                                                        tenant_id, run_id });
}

static int sqlite_log_find_run(struct event_log *log, struct db *db, int64_t tenant_id,
                               struct str run_id, int64_t *ret, struct error *err)
{
    struct sqlite_log *l = CONTAINER_OF(log, struct sqlite_log, base);
    struct wanted w = { &select_run_id, tenant_id, run_id, false };
    const struct ids_query query = { ids_hash(l->ids, ID_RUN, tenant_id, run_id), event_log_is_same,
                                     &w };

    return ids_find(l->ids, db, &query, ret, err);
}

static void sqlite_log_free(struct event_log *log)
{
    struct sqlite_log *l = CONTAINER_OF(log, struct sqlite_log, base);

    ids_free(l->ids);
    run_cache_done(&l->runs);
    free(l);
}

static const struct event_log_methods sqlite_methods = {
    .free = sqlite_log_free,
    .add = sqlite_log_add,
    .save = sqlite_log_save,
    .committed = sqlite_log_committed,
    .rolled_back = sqlite_log_rolled_back,
    .forget = sqlite_log_forget,
    .run_gone = sqlite_log_run_gone,
    .find_run = sqlite_log_find_run,
};

int event_log_sqlite_new(struct db *db, struct event_log **ret, struct error *err)
{
    struct sqlite_log *l = NEW(struct sqlite_log);

    l->base.methods = &sqlite_methods;
    if (ids_new(db, IDS_FLUSH_AT, &l->ids, err) != 0 ||
        db_exec(db, &select_next_event_no, DB_NO_ARGS, db_read_int, &l->next_event_no, err) != 0 ||
        db_exec(db, &select_next_run_no, DB_NO_ARGS, db_read_int, &l->next_run_no, err) != 0) {
        sqlite_log_free(&l->base);
        return -1;
    }
    l->committed_event_no = l->next_event_no;
    l->committed_run_no = l->next_run_no;
    *ret = &l->base;
    return 0;
}

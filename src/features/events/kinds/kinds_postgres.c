/* kinds_postgres.c - finds and adds kinds of events that nodes share. */
#include "features/events/kinds/kinds_postgres.h"

#include <assert.h>
#include <string.h>

#include "base/digest.h"
#include "base/log.h"
#include "base/map.h"
#include "base/metrics.h"
#include "db/postgres/array.h"
#include "features/events/event_log.h"
#include "features/events/kinds/json_form.h"
#include "features/events/kinds/kinds_memory.h"
#include "features/events/shapes.h"

enum {
    FIRST_FORM = 4,
    TEXTS_N = FIRST_FORM + KIND_FORMS,
    TEXTS_MIN = 8, /* bytes: fewer are no longer than what is saved */
    TEXTS_MAX = 1000,
    WANTED_MAX = 64, /* of one transaction */
};

/* What a kind says: version, level, category and source, and the forms of metadata and metrics,
 * which may be null. */
struct kind_texts {
    int64_t tenant_id;
    int event;
    struct str of[TEXTS_N];
};

/* One that is not in memory. */
struct wanted_kind {
    struct kind_texts texts;
    struct str key;
    int32_t kind_no;
    int64_t bytes; /* of an event's texts that it has */
    bool there;    /* committed, or added by this transaction */
};

/* An event's own texts, and what of them is its kind's. */
struct candidate {
    struct kind_texts texts;
    struct str values[KIND_FORMS]; /* null: no form */
    struct str key;
    int64_t bytes;
};

/* An event that would have it. */
struct wanted_by {
    struct wanted_kind *kind; /* or NULL */
    struct str values[KIND_FORMS];
};

struct search {
    struct kinds_memory *memory;
    struct db *db;
    struct arena *arena;
    const struct kinds_question *q;
    struct map by_key; /* struct wanted_kind */
    struct wanted_kind *wanted;
    struct wanted_by *of_item;
    size_t n_wanted;
};

/* clang-format off */
#define KIND_COLUMNS "kind_no, event, agent_version, level, category, source, metadata, metrics"
static const struct db_query select_kinds = {
    .postgres = "SELECT tenant_id, " KIND_COLUMNS " FROM event_kinds WHERE (tenant_id, kind_no) IN"
                " (SELECT t, k FROM unnest($1::bigint[], $2::integer[]) AS x(t, k))",
    .citus = "SELECT tenant_id, " KIND_COLUMNS " FROM event_kinds"
             " WHERE tenant_id = $1 AND kind_no = ANY ($2::integer[])",
};
DB_QUERY(count_kinds, "SELECT COUNT(*) FROM event_kinds WHERE tenant_id = $1");
/* In one order, so that two writers do not wait for each other in a circle. */
#define ADD_KINDS "INSERT INTO event_kinds (tenant_id, " KIND_COLUMNS ", bytes)"
#define KIND_ARRAYS                                                                                \
    "$2::integer[], $3::smallint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],"   \
    " $9::text[], $10::integer[]"
#define NEW_KINDS " ON CONFLICT (tenant_id, kind_no) DO NOTHING RETURNING tenant_id, kind_no"
static const struct db_query insert_kinds = {
    .postgres = ADD_KINDS " SELECT x.* FROM unnest($1::bigint[], " KIND_ARRAYS ")"
                " AS x(tenant_id, " KIND_COLUMNS ", bytes) LEFT JOIN (SELECT c.tenant_id, COUNT(*) AS n"
                " FROM event_kinds c WHERE c.tenant_id = ANY ($1::bigint[]) GROUP BY c.tenant_id) had"
                " ON had.tenant_id = x.tenant_id WHERE COALESCE(had.n, 0) < $11"
                " ORDER BY x.tenant_id, x.kind_no" NEW_KINDS,
    .citus = ADD_KINDS " SELECT t, x.* FROM (SELECT tenant_id AS t FROM agents WHERE tenant_id = $1"
             " AND agent_id = $12) g, unnest(" KIND_ARRAYS ") AS x(" KIND_COLUMNS ", bytes)"
             " WHERE (SELECT COUNT(*) FROM event_kinds c WHERE c.tenant_id = $1) < $11"
             " ORDER BY x.kind_no" NEW_KINDS,
};
/* clang-format on */

/* The tenant, the event, the lengths of the texts, and the texts. */
static struct str key_of(struct arena *arena, const struct kind_texts *texts)
{
    enum { NO_TEXT = UINT16_MAX };
    uint16_t lengths[TEXTS_N];
    size_t sum = 0;
    char *key, *to;

    for (size_t i = 0; i < TEXTS_N; i++) {
        assert(texts->of[i].len <= TEXTS_MAX);
        lengths[i] = str_is_null(texts->of[i]) ? NO_TEXT : (uint16_t)texts->of[i].len;
        sum += texts->of[i].len;
    }
    key = to = arena_alloc(arena, sizeof(texts->tenant_id) + 1 + sizeof(lengths) + sum);
    memcpy(to, &texts->tenant_id, sizeof(texts->tenant_id));
    to += sizeof(texts->tenant_id);
    *to++ = (char)texts->event;
    memcpy(to, lengths, sizeof(lengths));
    to += sizeof(lengths);
    for (size_t i = 0; i < TEXTS_N; i++) {
        if (texts->of[i].len > 0)
            memcpy(to, texts->of[i].data, texts->of[i].len);
        to += texts->of[i].len;
    }
    return str_from(key, (size_t)(to - key));
}

/* Adds the form of a text, unless it has none or the kind would be too long. */
static void add_form(struct candidate *c, size_t i, struct str text, const struct json_form *form,
                     size_t *sum)
{
    if (*sum + form->form.len > TEXTS_MAX)
        return;
    *sum += form->form.len;
    c->texts.of[FIRST_FORM + i] = form->form;
    c->values[i] = form->values;
    c->bytes += (int64_t)text.len - (int64_t)form->values.len;
}

/* False: too short or too long to be a kind. */
static bool make_candidate(struct arena *arena, const struct event_item *item,
                           struct candidate *ret)
{
    const struct telemetry_event *e = item->event;
    const struct str json[KIND_FORMS] = { e->metadata, e->metrics };
    struct json_form form;
    size_t sum = 0;

    *ret = (struct candidate){ .texts = { .tenant_id = item->tenant_id,
                                          .event = e->event,
                                          .of = { e->agent_version, e->level, e->category,
                                                  e->source, STR_NULL, STR_NULL } },
                               .values = { STR_NULL, STR_NULL } };
    for (size_t i = 0; i < FIRST_FORM; i++)
        sum += ret->texts.of[i].len;
    ret->bytes = (int64_t)sum;
    if (sum > TEXTS_MAX)
        return false;
    for (size_t i = 0; i < KIND_FORMS; i++) /* an empty object is NULL in the event's row */
        if (json[i].len > 2 && json_form_split(arena, json[i], &form))
            add_form(ret, i, json[i], &form, &sum);
    return sum >= TEXTS_MIN;
}

static void want(struct search *s, size_t i, const struct candidate *c)
{
    struct wanted_kind *w = map_get(&s->by_key, c->key);

    if (w == NULL) {
        if (s->n_wanted == WANTED_MAX)
            return;
        w = &s->wanted[s->n_wanted++];
        *w = (struct wanted_kind){ .texts = c->texts,
                                   .key = c->key,
                                   .kind_no = (int32_t)crc32c(0, c->key.data, c->key.len),
                                   .bytes = c->bytes };
        (void)map_put(&s->by_key, w->key, w);
    }
    s->of_item[i].kind = w;
    memcpy(s->of_item[i].values, c->values, sizeof(c->values));
}

static void assign(struct kind_found *found, int32_t kind_no, const struct str *values)
{
    found->has = true;
    found->kind_no = kind_no;
    memcpy(found->values, values, sizeof(found->values));
}

static void look(struct search *s, size_t i)
{
    struct kind_found *found = &s->q->found[i];
    struct candidate c;
    int32_t kind_no = 0;

    if (!make_candidate(s->arena, &s->q->items[i], &c))
        return;
    c.key = key_of(s->arena, &c.texts);
    switch (kinds_memory_find(s->memory, c.key, &kind_no)) {
    case KIND_STORED:
        assign(found, kind_no, c.values);
        break;
    case KIND_SEEN:
        want(s, i, &c);
        break;
    case KIND_NEW:
        found->key = c.key;
        break;
    }
}

/* A kind that is committed: a transaction asks before it adds. */
static bool read_kind(void *ctx, const struct db_row *row)
{
    struct search *s = ctx;
    struct kind_texts texts = { .tenant_id = db_get_int(row, 0), .event = (int)db_get_int(row, 2) };
    struct wanted_kind *w;

    for (size_t i = 0; i < TEXTS_N; i++) {
        texts.of[i] = db_get_text(row, (unsigned)(3 + i));
        if (texts.of[i].len > TEXTS_MAX)
            return true;
    }
    w = map_get(&s->by_key, key_of(s->arena, &texts));
    if (w == NULL || w->kind_no != db_get_int(row, 1))
        return true; /* another with the same number */
    w->there = true;
    kinds_memory_add(s->memory, w->key, w->kind_no);
    return true;
}

static void take_args(const struct search *s, struct pg_arrays *arrays, struct db_value *ret)
{
    pg_arrays_args(arrays, ret);
    if (s->q->one_tenant)
        ret[0] = db_int(s->wanted[0].texts.tenant_id);
}

static int select_wanted(struct search *s, struct error *err)
{
    struct db_value args[2];
    PG_ARRAYS_SCOPED(arrays, COUNT_OF(args), s->arena);

    for (size_t i = 0; i < s->n_wanted; i++) {
        const struct db_value row[] = { db_int(s->wanted[i].texts.tenant_id),
                                        db_int(s->wanted[i].kind_no) };

        pg_arrays_add(&arrays, row);
    }
    take_args(s, &arrays, args);
    return db_exec(s->db, &select_kinds, DB_ARGS_OF(args), read_kind, s, err);
}

static bool note_added(void *ctx, const struct db_row *row)
{
    struct search *s = ctx;

    for (size_t i = 0; i < s->n_wanted; i++)
        if (!s->wanted[i].there && s->wanted[i].texts.tenant_id == db_get_int(row, 0) &&
            s->wanted[i].kind_no == db_get_int(row, 1)) {
            s->wanted[i].there = true;
            return true;
        }
    return true;
}

static bool is_number_taken(const struct search *s, size_t before, const struct wanted_kind *w)
{
    for (size_t i = 0; i < before; i++)
        if (s->wanted[i].texts.tenant_id == w->texts.tenant_id &&
            s->wanted[i].kind_no == w->kind_no)
            return true;
    return false;
}

/* Kinds of this tenant were not added. Their numbers may be others', or another writer adds them
 * just now; or the tenant has no room for more. */
static int note_refused_of(struct search *s, int64_t tenant_id, struct error *err)
{
    int64_t n = 0;

    if (kinds_memory_is_full(s->memory, tenant_id))
        return 0;
    if (db_exec_int(s->db, &count_kinds, DB_ARGS(db_int(tenant_id)), &n, err) != 0)
        return -1;
    if (n < KINDS_PER_TENANT)
        return 0;
    kinds_memory_set_full(s->memory, tenant_id);
    metric_add(METRIC_KINDS_REFUSED, 1);
    log_write(LOG_WARNING, "storage",
              "tenant %lld has %lld combinations of version, level, category, source and names in "
              "metadata and metrics, and there is no room for more: events with others take more "
              "bytes",
              (long long)tenant_id, (long long)n);
    return 0;
}

/* Each tenant's kinds are counted once, however many it was refused. */
static int note_refused(struct search *s, struct error *err)
{
    for (size_t i = 0; i < s->n_wanted; i++) {
        const int64_t tenant_id = s->wanted[i].texts.tenant_id;
        size_t first = 0;

        while (first < i &&
               (s->wanted[first].there || s->wanted[first].texts.tenant_id != tenant_id))
            first++;
        if (first == i && !s->wanted[i].there && note_refused_of(s, tenant_id, err) != 0)
            return -1;
    }
    return 0;
}

static int insert_missing(struct search *s, struct error *err)
{
    enum { COLUMNS = 4 + TEXTS_N };
    struct db_value args[COLUMNS + 2];
    PG_ARRAYS_SCOPED(arrays, COLUMNS, s->arena);

    for (size_t i = 0; i < s->n_wanted; i++) {
        const struct wanted_kind *w = &s->wanted[i];
        struct db_value row[COLUMNS] = { db_int(w->texts.tenant_id), db_int(w->kind_no),
                                         db_int(w->texts.event) };

        if (w->there || is_number_taken(s, i, w) ||
            kinds_memory_is_full(s->memory, w->texts.tenant_id))
            continue;
        for (size_t t = 0; t < TEXTS_N; t++)
            row[3 + t] = db_text(w->texts.of[t]);
        row[3 + TEXTS_N] = db_int(w->bytes);
        pg_arrays_add(&arrays, row);
    }
    if (arrays.n_rows == 0)
        return 0;
    take_args(s, &arrays, args);
    args[COLUMNS] = db_int(KINDS_PER_TENANT);
    args[COLUMNS + 1] = db_int(s->q->items[0].agent_id); /* one of the tenant's, for Citus */
    if (db_exec(s->db, &insert_kinds, DB_ARGS_OF(args), note_added, s, err) != 0)
        return -1;
    return note_refused(s, err);
}

static int find_all(struct search *s, struct error *err)
{
    for (size_t i = 0; i < s->q->n; i++) {
        s->q->found[i].has = false;
        s->q->found[i].key = STR_NULL;
        if (s->q->found[i].wanted)
            look(s, i);
    }
    if (s->n_wanted == 0)
        return 0;
    if (select_wanted(s, err) != 0 || insert_missing(s, err) != 0)
        return -1;
    for (size_t i = 0; i < s->q->n; i++) {
        const struct wanted_by *by = &s->of_item[i];

        if (by->kind != NULL && by->kind->there)
            assign(&s->q->found[i], by->kind->kind_no, by->values);
    }
    return 0;
}

int kinds_postgres_find(struct kinds_memory *memory, struct db *db, const struct kinds_question *q,
                        struct arena *arena, struct error *err)
{
    struct search s = { .memory = memory,
                        .db = db,
                        .arena = arena,
                        .q = q,
                        .wanted = ARENA_ARRAY(arena, struct wanted_kind, WANTED_MAX),
                        .of_item = ARENA_ARRAY(arena, struct wanted_by, q->n) };
    int r;

    map_init(&s.by_key);
    kinds_memory_begin(memory, db);
    r = find_all(&s, err);
    map_done(&s.by_key);
    return r;
}

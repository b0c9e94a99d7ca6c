/* llm_totals.c - collects a transaction's changes to the sums of usage, and stores them. */
#include "features/cost/llm_totals.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "db/lists.h"

const char llm_totals_part[] = "llm_totals";

#define COLUMNS "tenant_id, " COLUMNS_OF_TENANT
#define COLUMNS_OF_TENANT                                                                          \
    "width, start, agent_id, model, n_rows, n_large, first_at, last_at, input_tokens,"             \
    " output_tokens, cache_read_tokens, cache_write_tokens, calls, fresh_tokens"

#define ADD_UP                                                                                     \
    " ON CONFLICT (tenant_id, width, start, agent_id, model) DO UPDATE SET"                        \
    " n_rows = llm_totals.n_rows + excluded.n_rows,"                                               \
    " n_large = llm_totals.n_large + excluded.n_large,"                                            \
    " first_at = CASE WHEN excluded.first_at < llm_totals.first_at THEN excluded.first_at"         \
    " ELSE llm_totals.first_at END,"                                                               \
    " last_at = CASE WHEN excluded.last_at > llm_totals.last_at THEN excluded.last_at"             \
    " ELSE llm_totals.last_at END,"                                                                \
    " input_tokens = llm_totals.input_tokens + excluded.input_tokens,"                             \
    " output_tokens = llm_totals.output_tokens + excluded.output_tokens,"                          \
    " cache_read_tokens = llm_totals.cache_read_tokens + excluded.cache_read_tokens,"              \
    " cache_write_tokens = llm_totals.cache_write_tokens + excluded.cache_write_tokens,"           \
    " calls = llm_totals.calls + excluded.calls,"                                                  \
    " fresh_tokens = llm_totals.fresh_tokens + excluded.fresh_tokens"

enum { COLUMNS_N = 15 };

/* clang-format off */
/* PostgreSQL inserts all rows at once, each column as an array; SQLite one by one. Where tenants are
 * distributed, all rows of a tenant, which is the first argument then. */
static const struct db_query add_total = {
    .sqlite = "INSERT INTO llm_totals (" COLUMNS ")"
              " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)" ADD_UP,
};
static const struct db_query add_totals = {
    .postgres = "INSERT INTO llm_totals (" COLUMNS ") SELECT " COLUMNS
                " FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[],"
                " $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[],"
                " $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[])"
                " WITH ORDINALITY AS x(" COLUMNS ", place) ORDER BY place" ADD_UP,
    .citus = "INSERT INTO llm_totals (" COLUMNS ") SELECT t, " COLUMNS_OF_TENANT
             " FROM (SELECT tenant_id AS t FROM agents WHERE tenant_id = $1"
             " AND agent_id = ($4::bigint[])[1]) g,"
             " unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::text[],"
             " $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[],"
             " $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[])"
             " WITH ORDINALITY AS x(" COLUMNS_OF_TENANT ", place) ORDER BY place" ADD_UP,
};
/* clang-format on */

/* The fixed part of a key; the model follows. */
struct total_key {
    int64_t tenant_id, width, start, agent_id;
};

/* The amounts to add to one row. */
struct change {
    struct total_key key;
    struct str model;
    int64_t n_rows, n_large, first_at, last_at, fresh;
    struct llm_counts counts;
};

struct llm_totals {
    struct arena arena;
    struct map changes; /* key and model -> struct change */
};

struct llm_totals *llm_totals_new(void)
{
    struct llm_totals *t = NEW(struct llm_totals);

    arena_init(&t->arena);
    map_init(&t->changes);
    return t;
}

void llm_totals_free(struct llm_totals *t)
{
    if (t == NULL)
        return;
    map_done(&t->changes);
    arena_done(&t->arena);
    free(t);
}

void llm_totals_clear(struct llm_totals *t)
{
    if (t->changes.n == 0)
        return;
    map_done(&t->changes);
    map_init(&t->changes);
    arena_reset(&t->arena);
}

int64_t llm_totals_start(enum llm_width width, int64_t timestamp)
{
    int64_t length = width == LLM_DAY ? LLM_DAY_US : LLM_HOUR_US;
    int64_t into = timestamp % length;

    return timestamp - (into < 0 ? into + length : into);
}

wide_int llm_fresh(const struct llm_counts *counts)
{
    wide_int cached = (wide_int)counts->cache_read + counts->cache_write;

    if (counts->fresh.has)
        return counts->fresh.value;
    return counts->input < cached ? counts->input : counts->input - cached;
}

static bool is_large(const struct llm_counts *c)
{
    const int64_t numbers[] = { c->input,       c->output, c->cache_read,
                                c->cache_write, c->calls,  c->fresh.value };

    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        if (numbers[i] > LLM_LARGE || numbers[i] < -LLM_LARGE)
            return true;
    return false;
}

static struct change *change_of(struct llm_totals *t, const struct llm_usage_key *place,
                                enum llm_width width)
{
    const struct total_key key = { .tenant_id = place->tenant_id,
                                   .width = width,
                                   .start = llm_totals_start(width, place->timestamp),
                                   .agent_id = place->agent_id };
    size_t len = sizeof(key) + place->model.len;
    char *bytes = arena_alloc(&t->arena, len);
    struct change *change;

    memcpy(bytes, &key, sizeof(key));
    if (place->model.len > 0)
        memcpy(bytes + sizeof(key), place->model.data, place->model.len);
    change = map_get(&t->changes, str_from(bytes, len));
    if (change == NULL) {
        change = ARENA_NEW(&t->arena, struct change);
        change->key = key;
        change->model = str_from(bytes + sizeof(key), place->model.len);
        change->first_at = change->last_at = place->timestamp;
        (void)map_put(&t->changes, str_from(bytes, len), change);
    }
    return change;
}

void llm_totals_add(struct llm_totals *t, const struct llm_usage_key *place,
                    const struct llm_counts *counts, int64_t sign)
{
    for (enum llm_width width = LLM_HOUR; width <= LLM_DAY; width++) {
        struct change *c = change_of(t, place, width);

        c->n_rows += sign;
        c->first_at = place->timestamp < c->first_at ? place->timestamp : c->first_at;
        c->last_at = place->timestamp > c->last_at ? place->timestamp : c->last_at;
        if (is_large(counts)) {
            c->n_large += sign;
            continue;
        }
        c->counts.input += sign * counts->input;
        c->counts.output += sign * counts->output;
        c->counts.cache_read += sign * counts->cache_read;
        c->counts.cache_write += sign * counts->cache_write;
        c->counts.calls += sign * counts->calls;
        c->fresh += sign * (int64_t)llm_fresh(counts);
    }
}

static int by_number(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_key(const void *a, const void *b)
{
    const struct change *x = *(struct change *const *)a, *y = *(struct change *const *)b;
    int order = by_number(x->key.tenant_id, y->key.tenant_id);

    if (order == 0)
        order = by_number(x->key.width, y->key.width);
    if (order == 0)
        order = by_number(x->key.start, y->key.start);
    if (order == 0)
        order = by_number(x->key.agent_id, y->key.agent_id);
    return order != 0 ? order : str_cmp(x->model, y->model);
}

static void fill_total(void *ctx, size_t i, struct db_value *ret)
{
    const struct change *c = ((struct change **)ctx)[i];
    const struct db_value values[COLUMNS_N] = {
        db_int(c->key.tenant_id),
        db_int(c->key.width),
        db_int(c->key.start),
        db_int(c->key.agent_id),
        db_text(c->model),
        db_int(c->n_rows),
        db_int(c->n_large),
        db_int(c->first_at),
        db_int(c->last_at),
        db_int(c->counts.input),
        db_int(c->counts.output),
        db_int(c->counts.cache_read),
        db_int(c->counts.cache_write),
        db_int(c->counts.calls),
        db_int(c->fresh),
    };

    memcpy(ret, values, sizeof(values));
}

int llm_totals_save(struct llm_totals *t, struct db *db, struct error *err)
{
    size_t n = t->changes.n, at = 0;
    struct change **changes = ARENA_ARRAY(&t->arena, struct change *, n + 1);

    for (size_t i = 0; i < n; i++)
        changes[i] = map_next(&t->changes, &at);
    qsort((void *)changes, n, sizeof(struct change *), by_key);
    return pg_exec_rows(db,
                        &(struct pg_rows){ .one = &add_total,
                                           .all = &add_totals,
                                           .n = n,
                                           .n_columns = COLUMNS_N,
                                           .fill = fill_total,
                                           .ctx = (void *)changes },
                        &t->arena, err);
}

/* report_store.c - SQL of LLM usage. */
#include "features/cost/reports.h"

#include <assert.h>
#include <string.h>

#include "base/buf.h"
#include "db/db.h"
#include "db/lists.h"
#include "features/cost/report_sums.h"
#include "shape/rows.h"

/* clang-format off */
const struct row_sum llm_usage_sum = {
    .table = "llm_usage",
    .types = "iiittiiiiiitt",
    .key = (const char *const[]){ "tenant_id", "timestamp", "agent_id", "run_id", "model", NULL },
    .all = { .sql = "SELECT " USAGE_SUMMED("") ", 0 FROM llm_usage" },
};
/* clang-format on */

#define OF_IDENTITY                                                                                \
    " WHERE tenant_id = $1 AND timestamp = $2 AND agent_id = $3 AND run_id = $4 AND model = $5"
#define FRESH  ", fresh_tokens"
#define COUNTS "input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, calls"
#define SELECT_USAGE                                                                               \
    "SELECT " USAGE_SUMMED("") FRESH                                                               \
        " FROM llm_usage"                                                                          \
        " WHERE tenant_id = $1 AND timestamp >= $2 AND timestamp < $3"                             \
        " AND (CAST($4 AS BIGINT) = 0 OR agent_id = $4) AND (CAST($5 AS TEXT) IS NULL OR run_id "  \
        "= $5)"

/* clang-format off */
DB_QUERY(insert_usage,
    "INSERT INTO llm_usage (tenant_id, timestamp, agent_id, run_id, model, received_at,"
    " " COUNTS ", agent_version, workflow_run_id, checksum" FRESH ")"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"
    " ON CONFLICT (tenant_id, timestamp, agent_id, run_id, model) DO NOTHING");
static const struct db_query select_old = {
    .sqlite = "SELECT " USAGE_SUMMED("") FRESH " FROM llm_usage" OF_IDENTITY,
    .postgres = "SELECT " USAGE_SUMMED("") FRESH " FROM llm_usage" OF_IDENTITY " FOR UPDATE",
};
DB_QUERY(replace_usage,
    "UPDATE llm_usage SET received_at = $6, input_tokens = $7, output_tokens = $8,"
    " cache_read_tokens = $9, cache_write_tokens = $10, calls = $11, agent_version = $12,"
    " workflow_run_id = $13, checksum = $14, fresh_tokens = $15" OF_IDENTITY
    " AND ((" COUNTS ", agent_version) <> ($7, $8, $9, $10, $11, $12)"
    " OR workflow_run_id IS DISTINCT FROM $13 OR fresh_tokens IS DISTINCT FROM $15)");
DB_QUERY(select_totals,
    "SELECT agent_id, model, " COUNTS ", start, first_at, last_at, n_large, fresh_tokens"
    " FROM llm_totals WHERE tenant_id = $1 AND width = $5 AND start >= $2 AND start < $3"
    " AND (CAST($4 AS BIGINT) = 0 OR agent_id = $4)");
static const struct db_query select_usage = { .sum = &llm_usage_sum, .sql = SELECT_USAGE };
static const struct db_query select_usage_by_run = {
    .sum = &llm_usage_sum,
    .sql = SELECT_USAGE " ORDER BY run_id",
};
/* $2 has the ids as an array of the dialect. LATERAL asks the index for one run after the other: given
 * all ids at once, PostgreSQL reads every report of a tenant that its statistics do not know. Citus sends
 * a statement on a single table to its server without planning it. */
const struct db_query llm_usage_of_runs = {
    .sum = &llm_usage_sum,
    .sqlite = "SELECT " USAGE_SUMMED("") FRESH " FROM llm_usage INDEXED BY llm_usage_run"
              " WHERE tenant_id = $1 AND run_id IN (SELECT value FROM json_each($2))"
              " ORDER BY run_id",
    .citus = "SELECT " USAGE_SUMMED("") FRESH " FROM llm_usage"
             " WHERE tenant_id = $1 AND run_id = ANY ($2::text[]) ORDER BY run_id",
    .postgres = "SELECT " USAGE_SUMMED("u.") FRESH " FROM (SELECT DISTINCT unnest($2::text[]) AS id) i"
                " CROSS JOIN LATERAL (SELECT " USAGE_SUMMED("") FRESH " FROM llm_usage"
                " WHERE tenant_id = $1 AND run_id = i.id OFFSET 0) u ORDER BY u.run_id",
};
/* $2 has the starts of days as an array of the dialect: each is a look into the key, however many
 * agents the tenant has. */
#define OF_DAYS "SELECT model, last_at FROM llm_totals WHERE tenant_id = $1 AND width = 1 AND start "
#define NEWEST  " AND agent_id = $3 AND n_rows > 0 ORDER BY last_at DESC, model LIMIT 1"
static const struct db_query select_last_model = {
    .sqlite = OF_DAYS "IN (SELECT value FROM json_each($2))" NEWEST,
    .postgres = OF_DAYS "= ANY ($2::bigint[])" NEWEST,
};
/* clang-format on */

static struct llm_counts read_counts(const struct db_row *row, unsigned column)
{
    return (struct llm_counts){ .input = db_get_int(row, column),
                                .output = db_get_int(row, column + 1),
                                .cache_read = db_get_int(row, column + 2),
                                .cache_write = db_get_int(row, column + 3),
                                .calls = db_get_int(row, column + 4) };
}

struct old_usage {
    struct llm_counts counts;
    int64_t bytes; /* that it counts for its tenant */
    bool there;
};

/* As USAGE_BYTES(): of run, model, version and workflow. */
static int64_t usage_bytes(const struct str texts[4])
{
    return (int64_t)(STORED_ROW_BYTES + texts[0].len + texts[1].len + texts[2].len + texts[3].len);
}

static bool read_old(void *ctx, const struct db_row *row)
{
    struct old_usage *old = ctx;

    (void)row_sum_check(&llm_usage_sum, row, 0); /* reported, and replaced all the same */
    old->counts = read_counts(row, USAGE_AT_COUNTS);
    old->counts.fresh = rows_opt_int(row, USAGE_AT_NEXT);
    old->bytes = usage_bytes((const struct str[]){
        db_get_text(row, USAGE_AT_RUN_ID), db_get_text(row, USAGE_AT_MODEL),
        db_get_text(row, USAGE_AT_VERSION), db_get_text(row, USAGE_AT_WORKFLOW) });
    old->there = true;
    return true;
}

/* A report that is being stored. */
struct storing {
    struct db *db;
    const struct report_key *place;
    const struct llm_usage *usage;
    struct llm_counts counts;
    struct llm_totals *totals;
};

/* Of a report that says whether its input includes cached tokens, the input without them. */
static struct llm_counts counts_of(const struct llm_usage *u)
{
    struct llm_counts c = { .input = u->input_tokens,
                            .output = u->output_tokens,
                            .cache_read = u->cache_read_tokens,
                            .cache_write = u->cache_write_tokens,
                            .calls = u->calls };

    if (!u->input_includes_cache.has)
        return c;
    if (u->input_includes_cache.value)
        c.input = money_to_int(llm_fresh(&c));
    c.fresh = (struct opt_int){ true, c.input };
    return c;
}

/* Of the three queries that write, with the counts to be stored. */
static int exec_usage(const struct storing *s, const struct db_query *q, struct old_usage *old,
                      struct error *err)
{
    const struct report_key *place = s->place;
    const struct llm_usage *u = s->usage;
    struct db_value row[] = { db_int(place->tenant_id),
                              db_int(u->timestamp),
                              db_int(place->agent_id),
                              db_text(u->run_id),
                              db_text(u->model),
                              db_int(place->received_at),
                              db_int(s->counts.input),
                              db_int(s->counts.output),
                              db_int(s->counts.cache_read),
                              db_int(s->counts.cache_write),
                              db_int(s->counts.calls),
                              db_text(u->agent_version),
                              db_text(u->workflow_run_id),
                              db_null(),
                              rows_opt_int_value(s->counts.fresh) };
    const struct db_args args = DB_ARGS_OF(row);

    row[COUNT_OF(row) - 2] = row_sum_of(&llm_usage_sum, row);
    return old == NULL ? db_run(s->db, q, args, err) : db_exec(s->db, q, args, read_old, old, err);
}

/* Inserts it, or reads the counts of the one that is there. */
static int insert_or_find(const struct storing *s, struct old_usage *ret_old, struct error *err)
{
    *ret_old = (struct old_usage){ .there = false };
    if (exec_usage(s, &insert_usage, NULL, err) != 0)
        return -1;
    if (db_changes(s->db) != 0)
        return 0;
    if (exec_usage(s, &select_old, ret_old, err) != 0)
        return -1;
    if (!ret_old->there) /* deleted since the insert */
        return err_set(err, ERR_BUSY, "a report went away while it was being replaced");
    return 0;
}

/* It was stored, perhaps in the place of the old one. */
static void count_bytes(const struct storing *s, const struct old_usage *old)
{
    const struct llm_usage *u = s->usage;
    const struct str texts[] = { u->run_id, u->model, u->agent_version, u->workflow_run_id };

    stored_bytes_add(s->place->bytes, s->place->tenant_id, usage_bytes(texts) - old->bytes);
}

/* Both are not negative as a rule; beyond 64 bits the larger one stays. */
static int64_t sum(int64_t a, int64_t b)
{
    int64_t result;

    return __builtin_add_overflow(a, b, &result) ? (a > b ? a : b) : result;
}

static struct llm_counts sum_of(const struct llm_counts *a, const struct llm_counts *b)
{
    return (struct llm_counts){
        sum(a->input, b->input),           sum(a->output, b->output),
        sum(a->cache_read, b->cache_read), sum(a->cache_write, b->cache_write),
        sum(a->calls, b->calls),           { true, money_to_int(llm_fresh(a) + llm_fresh(b)) }
    };
}

/* `add`: to the counts of the same identity, instead of replacing them. */
static int put(struct storing *s, bool add, bool *ret_replaced, struct error *err)
{
    const struct llm_usage_key where = { s->place->tenant_id, s->place->agent_id,
                                         s->usage->timestamp, s->usage->model };
    struct old_usage old;

    *ret_replaced = false;
    if (insert_or_find(s, &old, err) != 0)
        return -1;
    if (old.there) {
        if (add)
            s->counts = sum_of(&s->counts, &old.counts);
        if (exec_usage(s, &replace_usage, NULL, err) != 0)
            return -1;
        *ret_replaced = db_changes(s->db) != 0;
        if (!*ret_replaced)
            return 0;
        llm_totals_add(s->totals, &where, &old.counts, -1);
    }
    llm_totals_add(s->totals, &where, &s->counts, 1);
    count_bytes(s, &old);
    return 0;
}

int llm_usage_put(struct db *db, const struct report_key *place, const struct llm_usage *u,
                  struct llm_totals *totals, bool *ret_replaced, struct error *err)
{
    struct storing s = { db, place, u, counts_of(u), totals };

    return put(&s, false, ret_replaced, err);
}

int llm_usage_add(struct db *db, const struct report_key *place, const struct llm_usage *u,
                  struct llm_totals *totals, struct error *err)
{
    struct storing s = { db, place, u, counts_of(u), totals };
    bool replaced;

    return put(&s, true, &replaced, err);
}

struct reading {
    llm_row_fn *on_row;
    void *ctx;
};

static bool read_total(void *ctx, const struct db_row *row)
{
    const struct reading *reading = ctx;

    reading->on_row(reading->ctx, &(struct llm_row){ .agent_id = db_get_int(row, 0),
                                                     .model = db_get_text(row, 1),
                                                     .counts = read_counts(row, 2),
                                                     .start = db_get_int(row, 7),
                                                     .first_at = db_get_int(row, 8),
                                                     .last_at = db_get_int(row, 9),
                                                     .n_large = db_get_int(row, 10),
                                                     .fresh = db_get_int(row, 11) });
    return true;
}

static bool read_usage(void *ctx, const struct db_row *row)
{
    const struct reading *reading = ctx;
    int64_t at = db_get_int(row, USAGE_AT_TIMESTAMP);
    struct llm_counts counts = read_counts(row, USAGE_AT_COUNTS);

    counts.fresh = rows_opt_int(row, USAGE_AT_NEXT);

    reading->on_row(reading->ctx,
                    &(struct llm_row){ .agent_id = db_get_int(row, USAGE_AT_AGENT),
                                       .model = db_get_text(row, USAGE_AT_MODEL),
                                       .counts = counts,
                                       .start = at,
                                       .first_at = at,
                                       .last_at = at,
                                       .run_id = db_get_text(row, USAGE_AT_RUN_ID),
                                       .version = db_get_text(row, USAGE_AT_VERSION) });
    return true;
}

int llm_usage_read(struct db *db, const struct llm_filter *filter, bool by_run, llm_row_fn *on_row,
                   void *ctx, struct error *err)
{
    struct reading reading = { on_row, ctx };

    return db_exec(db, by_run ? &select_usage_by_run : &select_usage,
                   DB_ARGS(db_int(filter->tenant_id), db_int(filter->since), db_int(filter->until),
                           db_int(filter->agent_id), db_text(filter->run_id)),
                   read_usage, &reading, err);
}

/* Of UUIDs, which need no escapes in either dialect. */
static void add_array(struct buf *out, bool postgres, const struct list *texts)
{
    const struct str *items = texts->items;

    for (size_t i = 0; i < texts->n; i++) {
        buf_add_c(out, i > 0 ? "," : postgres ? "{" : "[");
        buf_add_json(out, items[i]);
    }
    buf_add_c(out, postgres ? "}" : "]");
}

int llm_usage_read_of_runs(struct db *db, int64_t tenant_id, const struct list *run_ids,
                           llm_row_fn *on_row, void *ctx, struct error *err)
{
    struct reading reading = { on_row, ctx };
    BUF_SCOPED(ids, SIZE_MAX); /* bounded: ids of stored runs */

    assert(run_ids->n > 0);
    add_array(&ids, strcmp(db_dialect(db), "postgres") == 0, run_ids);
    return db_exec(db, &llm_usage_of_runs, DB_ARGS(db_int(tenant_id), db_text(buf_str(&ids))),
                   read_usage, &reading, err);
}

int llm_usage_sums(struct db *db, const struct llm_filter *filter, enum llm_width width,
                   llm_row_fn *on_row, void *ctx, struct error *err)
{
    struct reading reading = { on_row, ctx };

    return db_exec(db, &select_totals,
                   DB_ARGS(db_int(filter->tenant_id), db_int(filter->since), db_int(filter->until),
                           db_int(filter->agent_id), db_int(width)),
                   read_total, &reading, err);
}

struct finding {
    struct arena *arena;
    struct llm_last *last;
};

static bool read_last(void *ctx, const struct db_row *row)
{
    const struct finding *finding = ctx;

    *finding->last =
        (struct llm_last){ arena_copy(finding->arena, db_get_text(row, 0)), db_get_int(row, 1) };
    return true;
}

int llm_usage_last(struct db *db, const struct llm_agent *of, int64_t until, struct arena *arena,
                   struct llm_last *ret, struct error *err)
{
    struct finding finding = { arena, ret };
    int64_t days[32]; /* back from the day of `until` */

    *ret = (struct llm_last){ STR_NULL, TIME_NULL };
    for (size_t i = 0; i < COUNT_OF(days); i++)
        days[i] = llm_totals_start(LLM_DAY, until) - (int64_t)i * LLM_DAY_US;
    return db_exec(db, &select_last_model,
                   DB_ARGS(db_int(of->tenant_id), db_id_list(db, days, COUNT_OF(days), arena),
                           db_int(of->agent_id)),
                   read_last, &finding, err);
}

/* bare_postgres.c - how fast one libpq connection does the same inserts: what the PostgreSQL store
 * is held to.
 *
 * The schema is muster's own. Every transaction inserts the runs that are new
 * and 500 events, as arrays, ON CONFLICT DO NOTHING; it reads nothing back but
 * the numbers of its runs, checks nothing and keeps no run's state.
 */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "events.h"
#include "options.h"

/* clang-format off */
enum column {
    TENANT, RUN_NO, AGENT_ID, EVENT_UUID, EVENT, TIMESTAMP, RECEIVED_AT, SEQ, AGENT_VERSION, DURATION_MS,
    RECORDS, ERROR_TYPE, ERROR_MESSAGE, WORKFLOW, MESSAGE, LEVEL, CATEGORY, SOURCE, METADATA, METRICS,
    LINKS, OUTPUT, CHECKSUM, COLUMNS
};

#define NAMES "tenant_id, run_no, agent_id, event_uuid, event, timestamp, received_at, seq, agent_version,"  \
    " duration_ms, records_processed, error_type, error_message, workflow_run_id, message, level,"         \
    " category, source, metadata, metrics, links, output, checksum"

static const char insert_events[] = "INSERT INTO events (" NAMES ") SELECT * FROM unnest($1::bigint[],"
    " $2::bigint[], $3::bigint[], $4::uuid[], $5::smallint[], $6::bigint[], $7::bigint[], $8::bigint[],"
    " $9::text[], $10::bigint[], $11::bigint[], $12::text[], $13::text[], $14::text[], $15::text[],"
    " $16::text[], $17::text[], $18::text[], $19::text[], $20::text[], $21::text[], $22::text[], $23::bigint[])"
    " ON CONFLICT (tenant_id, event_uuid) WHERE event_uuid IS NOT NULL DO NOTHING";

static const char insert_runs[] = "INSERT INTO runs (tenant_id, run_id, agent_id, start_at)"
    " SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::bigint[])"
    " ON CONFLICT (tenant_id, run_id) DO NOTHING RETURNING run_no";
/* clang-format on */

enum { RUN_COLUMNS = 4 };

struct array {
    char *text;
    size_t len, room;
};

struct bare {
    PGconn *conn;
    struct event_source source;
    uint64_t batch, with_runs, n_runs; /* n_runs: inserted so far, they are numbered from 0 */
    int64_t *run_nos;
};

_Noreturn static void fail(struct bare *b)
{
    (void)fprintf(stderr, "bare_postgres: %s\n", PQerrorMessage(b->conn));
    exit(1);
}

static double now_s(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void run_sql(struct bare *b, const char *sql)
{
    PGresult *result = PQexec(b->conn, sql);
    ExecStatusType status = PQresultStatus(result);

    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        fail(b);
    PQclear(result);
}

static char *room_for(struct array *a, size_t len)
{
    if (a->len + len + 2 > a->room) {
        size_t room = 2 * (a->room + len + 2);
        char *text = realloc(a->text, room);

        if (text == NULL)
            abort();
        a->text = text;
        a->room = room;
    }
    return a->text + a->len;
}

static void add_raw(struct array *a, const char *text, size_t len)
{
    char *to = room_for(a, len + 1);

    *to++ = a->len == 0 ? '{' : ',';
    memcpy(to, text, len);
    a->len += len + 1;
}

static void add_int(struct array *a, int64_t value)
{
    char text[24];

    add_raw(a, text, (size_t)snprintf(text, sizeof(text), "%lld", (long long)value));
}

/* In quotes, with what needs it escaped. */
static void add_text(struct array *a, const char *text, size_t len)
{
    char *to = room_for(a, 2 * len + 3), *begin = to;

    *to++ = a->len == 0 ? '{' : ',';
    *to++ = '"';
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '"' || text[i] == '\\')
            *to++ = '\\';
        *to++ = text[i];
    }
    *to++ = '"';
    a->len += (size_t)(to - begin);
}

static void add_part(struct array *a, const char *event, const struct event_text *t,
                     enum event_part part)
{
    add_text(a, event + t->parts[part].offset, t->parts[part].len);
}

static void add_null(struct array *a)
{
    add_raw(a, "NULL", 4);
}

/* Ends the arrays, sends them, empties them. */
static PGresult *insert(struct bare *b, const char *name, struct array *arrays, int n)
{
    const char *values[COLUMNS];
    PGresult *result;
    ExecStatusType status;

    for (int i = 0; i < n; i++) {
        memcpy(room_for(&arrays[i], 2), "}", 2);
        values[i] = arrays[i].text;
        arrays[i].len = 0;
    }
    result = PQexecPrepared(b->conn, name, n, values, NULL, NULL, 0);
    status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        fail(b);
    return result;
}

/* The runs of events [from, from + batch) that are new; a run's number is its place. */
static void insert_new_runs(struct bare *b, uint64_t from)
{
    static struct array arrays[RUN_COLUMNS];
    uint64_t first = b->n_runs;
    PGresult *result;

    for (uint64_t i = from; i < from + b->batch; i++) {
        struct event_facts f = events_facts(&b->source, i);
        char run_id[UUID_LEN];

        if (f.run < b->n_runs)
            continue;
        events_run_id(&b->source, f.run, run_id);
        add_int(&arrays[0], 1);
        add_text(&arrays[1], run_id, sizeof(run_id));
        add_int(&arrays[2], (int64_t)(f.run % AGENTS) + 1);
        add_int(&arrays[3], f.timestamp_us);
        b->n_runs = f.run + 1;
    }
    if (b->n_runs == first)
        return;
    result = insert(b, "runs", arrays, RUN_COLUMNS);
    for (uint64_t i = first; i < b->n_runs; i++)
        b->run_nos[i] = strtoll(PQgetvalue(result, (int)(i - first), 0), NULL, 10);
    PQclear(result);
}

static void add_event(struct bare *b, uint64_t number, struct array *to)
{
    struct event_facts f = events_facts(&b->source, number);
    const struct event_text *t = &b->source.texts[f.kind];
    char event[EVENT_BYTES_MAX], id[UUID_LEN];

    (void)events_write(&b->source, number, event);
    events_event_id(&b->source, number, id);
    add_int(&to[TENANT], 1);
    add_int(&to[RUN_NO], b->with_runs ? b->run_nos[f.run] : (int64_t)f.run);
    add_int(&to[AGENT_ID], (int64_t)(f.run % AGENTS) + 1);
    add_text(&to[EVENT_UUID], id, sizeof(id));
    add_int(&to[EVENT], f.kind);
    add_int(&to[TIMESTAMP], f.timestamp_us);
    add_int(&to[RECEIVED_AT], f.timestamp_us);
    add_int(&to[SEQ], f.seq);
    add_text(&to[AGENT_VERSION], "2.4.1", 5);
    if (f.kind == KIND_COMPLETED || f.kind == KIND_FAILED) {
        add_int(&to[DURATION_MS], 100000 + (int64_t)(number % 65536));
        add_int(&to[RECORDS], 100000 + (int64_t)(number % 65536));
    } else {
        add_null(&to[DURATION_MS]);
        add_null(&to[RECORDS]);
    }
    if (f.kind == KIND_FAILED) {
        add_text(&to[ERROR_TYPE], "LedgerTimeout", 13);
        add_text(&to[ERROR_MESSAGE], "no answer in 30 s", 17);
    } else {
        add_null(&to[ERROR_TYPE]);
        add_null(&to[ERROR_MESSAGE]);
    }
    add_null(&to[WORKFLOW]);
    add_part(&to[MESSAGE], event, t, PART_MESSAGE);
    add_text(&to[LEVEL], "info", 4);
    add_part(&to[CATEGORY], event, t, PART_CATEGORY);
    add_part(&to[SOURCE], event, t, PART_SOURCE);
    add_part(&to[METADATA], event, t, PART_METADATA);
    add_part(&to[METRICS], event, t, PART_METRICS);
    add_null(&to[LINKS]);
    add_null(&to[OUTPUT]);
    add_int(&to[CHECKSUM], (int64_t)1 << 32);
}

static void insert_batch(struct bare *b, uint64_t from)
{
    static struct array arrays[COLUMNS];

    run_sql(b, "BEGIN");
    if (b->with_runs)
        insert_new_runs(b, from);
    for (uint64_t i = from; i < from + b->batch; i++)
        add_event(b, i, arrays);
    PQclear(insert(b, "events", arrays, COLUMNS));
    run_sql(b, "COMMIT");
}

/* Makes the schema from its file, a tenant and the agents. */
static void set_up(struct bare *b, const char *schema)
{
    FILE *file = fopen(schema, "r");
    char *sql = calloc(1, 1 << 16);

    if (file == NULL || sql == NULL || fread(sql, 1, (1 << 16) - 1, file) == 0) {
        (void)fprintf(stderr, "bare_postgres: cannot read %s\n", schema);
        exit(1);
    }
    (void)fclose(file);
    run_sql(b, sql);
    free(sql);
    run_sql(b, "SET synchronous_commit = on;"
               "INSERT INTO tenants (slug, name, max_agents, rate_limit, created_at)"
               " VALUES ('bench', 'bench', 100, 1, 1);"
               "INSERT INTO agents (tenant_id, agent_name, enabled, first_seen_at)"
               " SELECT 1, 'invoice-bot-' || n, 1, 1 FROM generate_series(0, 19) AS n");
    PQclear(PQprepare(b->conn, "events", insert_events, COLUMNS, NULL));
    PQclear(PQprepare(b->conn, "runs", insert_runs, RUN_COLUMNS, NULL));
}

int main(int argc, char **argv)
{
    uint64_t count = 100000, seed = 1, open_runs = 100;
    const char *database = "postgresql:///bench", *schema = "migrations/0001_schema.postgres.sql";
    struct bare b = { .batch = 500, .with_runs = 1 };
    const struct option_row rows[] = {
        { "database", NULL, &database, "URL of an empty one" },
        { "schema", NULL, &schema, "muster's own" },
        { "count", &count, NULL, "events, a multiple of --batch" },
        { "batch", &b.batch, NULL, "events a statement and transaction" },
        { "runs", &b.with_runs, NULL, "1: insert the runs too" },
        { "seed", &seed, NULL, "another seed, other ids" },
        { "open-runs", &open_runs, NULL, "runs whose events are interleaved" },
    };
    double began;

    options_read(argc, argv, rows, sizeof(rows) / sizeof(rows[0]));
    events_init(&b.source, "bench", seed, open_runs);
    b.run_nos = calloc(count + open_runs + b.batch, sizeof(*b.run_nos));
    b.conn = PQconnectdb(database);
    if (b.run_nos == NULL || PQstatus(b.conn) != CONNECTION_OK)
        fail(&b);
    set_up(&b, schema);
    began = now_s();
    for (uint64_t i = 0; i < count; i += b.batch)
        insert_batch(&b, i);
    (void)printf("rows_per_s %.1f\n", (double)count / (now_s() - began));
    PQfinish(b.conn);
    free(b.run_nos);
    return 0;
}

/* registrations_store.c - SQL of registrations. */
#include "features/agents/registrations_store.h"

#include <string.h>

#include "base/buf.h"
#include "db/lists.h"
#include "db/name_key.h"
#include "features/agents/shapes.h"
#include "shape/rows.h"

/* clang-format off */
/* PostgreSQL compresses and stores a long text again, unless the column keeps its value. */
#define KEEP_EQUAL(column, value)                                                                  \
    column " = CASE WHEN " column " = " value " THEN " column " ELSE " value " END"
static const struct db_query update_agent = {
    .sqlite = "UPDATE agents SET registered_version = $3, description = $4, telemetry_doc = $5,"
              " interval_seconds = $6, inputs = $7, outputs = $8, config_schema = $9,"
              " registered_at = $10 WHERE tenant_id = $1 AND agent_id = $2",
    .postgres = "UPDATE agents SET registered_version = $3, " KEEP_EQUAL("description", "$4") ", "
                KEEP_EQUAL("telemetry_doc", "$5") ", interval_seconds = $6, "
                KEEP_EQUAL("inputs", "$7") ", " KEEP_EQUAL("outputs", "$8") ", "
                KEEP_EQUAL("config_schema", "$9") ", registered_at = $10"
                " WHERE tenant_id = $1 AND agent_id = $2",
};
DB_QUERY(delete_kpis, "DELETE FROM kpis WHERE tenant_id = $1 AND agent_id = $2");
/* $3 is a JSON array of rows, so that one statement stores all KPIs. PostgreSQL would read json
 * again for each member that is asked for; jsonb it reads once. */
static const struct db_query insert_kpis = {
    .postgres = "INSERT INTO kpis (tenant_id, agent_id, key, full_key, label, unit, agg)"
                " SELECT CAST($1 AS BIGINT), CAST($2 AS BIGINT), j ->> 0, j ->> 1, j ->> 2,"
                " j ->> 3, j ->> 4 FROM jsonb_array_elements(CAST($3 AS jsonb)) AS j",
    .citus = "INSERT INTO kpis (tenant_id, agent_id, key, full_key, label, unit, agg)"
             " SELECT g.tenant_id, g.agent_id, j ->> 0, j ->> 1, j ->> 2, j ->> 3, j ->> 4"
             " FROM agents g, jsonb_array_elements(CAST($3 AS jsonb)) AS j"
             " WHERE g.tenant_id = $1 AND g.agent_id = $2",
};
/* SQLite: one statement for each KPI costs it less than reading JSON. */
static const struct db_query delete_gone_kpis = {
    .sqlite = "DELETE FROM kpis WHERE tenant_id = $1 AND agent_id = $2"
              " AND key NOT IN (SELECT json_extract(j.value, '$[0]') FROM json_each($3) j)",
};
static const struct db_query put_kpi = {
    .sqlite = "INSERT INTO kpis (tenant_id, agent_id, key, full_key, label, unit, agg)"
              " VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (tenant_id, agent_id, key)"
              " DO UPDATE SET label = excluded.label, unit = excluded.unit, agg = excluded.agg"
              " WHERE (label, unit, agg) <> (excluded.label, excluded.unit, excluded.agg)",
};
/* Both in one, and only for what differs: most registrations declare what the one before did. NOT IN
 * is a lookup in a hash table, where NOT EXISTS would be planned as a loop over all pairs; none of
 * the columns is NULL. */
static const struct db_query replace_kpis = {
    .postgres = "WITH declared AS (SELECT j ->> 0 AS key, j ->> 1 AS full_key, j ->> 2 AS label,"
                " j ->> 3 AS unit, j ->> 4 AS agg FROM jsonb_array_elements(CAST($3 AS jsonb)) AS j),"
                " gone AS (DELETE FROM kpis k WHERE k.tenant_id = $1 AND k.agent_id = $2"
                " AND k.key NOT IN (SELECT d.key FROM declared d))"
                " INSERT INTO kpis (tenant_id, agent_id, key, full_key, label, unit, agg)"
                " SELECT CAST($1 AS BIGINT), CAST($2 AS BIGINT), d.key, d.full_key, d.label, d.unit,"
                " d.agg FROM declared d WHERE (d.key, d.label, d.unit, d.agg) NOT IN"
                " (SELECT k.key, k.label, k.unit, k.agg FROM kpis k WHERE k.tenant_id = $1"
                " AND k.agent_id = $2) ON CONFLICT (tenant_id, agent_id, key) DO UPDATE SET"
                " label = excluded.label, unit = excluded.unit, agg = excluded.agg",
    .citus = "SELECT 1", /* replaced by two statements there */
};
/* clang-format on */

static void add_kpi(struct buf *out, const struct business_kpi_decl *kpi, struct arena *arena)
{
    struct name_key name = store_name_key(kpi->key, arena);

    buf_add_char(out, '[');
    buf_add_json(out, name.key);
    buf_add_char(out, ',');
    if (str_is_null(name.full))
        buf_add_c(out, "null");
    else
        buf_add_json(out, name.full);
    buf_add_char(out, ',');
    buf_add_json(out, kpi->label);
    buf_add_char(out, ',');
    buf_add_json(out, kpi->unit);
    buf_add_char(out, ',');
    buf_add_json(out, kpi->agg);
    buf_add_char(out, ']');
}

static struct str kpis_text(const struct list *list, struct arena *arena)
{
    const struct business_kpi_decl *kpis = list->items;
    BUF_SCOPED(out, SIZE_MAX); /* bounded by the size of the body */

    buf_add_char(&out, '[');
    for (size_t i = 0; i < list->n; i++) {
        if (i > 0)
            buf_add_char(&out, ',');
        add_kpi(&out, &kpis[i], arena);
    }
    buf_add_char(&out, ']');
    return buf_take(&out, arena);
}

/* Nothing is stored for an empty list. */
static struct str list_text(const struct agent_register *body, const struct list *list,
                            const char *name, struct arena *arena)
{
    return list->n == 0 ? STR_NULL : rows_json_of(&agent_register_shape, name, body, arena);
}

void registration_rows_prepare(const struct agent_register *body, struct arena *arena,
                               struct registration_rows *ret)
{
    *ret = (struct registration_rows){
        .body = body,
        .kpis = kpis_text(&body->business_kpis, arena),
        .inputs = list_text(body, &body->inputs, "inputs", arena),
        .outputs = list_text(body, &body->outputs, "outputs", arena),
        .config_schema = rows_json_of(&agent_register_shape, "config_schema", body, arena),
    };
}

/* Writes only what differs: most registrations declare what the one before did. */
static int put_kpis_one_by_one(struct db *db, const struct report_key *key,
                               const struct registration_rows *rows, struct error *err)
{
    const struct db_value tenant = db_int(key->tenant_id), agent = db_int(key->agent_id);
    const struct list *list = &rows->body->business_kpis;
    const struct business_kpi_decl *kpis = list->items;

    if (db_run(db, &delete_gone_kpis, DB_ARGS(tenant, agent, db_text(rows->kpis)), err) != 0)
        return -1;
    for (size_t i = 0; i < list->n; i++) {
        struct name_room room;
        const struct name_key name = store_name_key_in(kpis[i].key, &room);

        if (db_run(db, &put_kpi,
                   DB_ARGS(tenant, agent, db_text(name.key), db_text(name.full),
                           db_text(kpis[i].label), db_text(kpis[i].unit), db_text(kpis[i].agg)),
                   err) != 0)
            return -1;
    }
    return 0;
}

int registration_rows_put(struct db *db, const struct report_key *key,
                          const struct registration_rows *rows, struct error *err)
{
    const struct agent_register *body = rows->body;
    const struct db_args agent =
        DB_ARGS(db_int(key->tenant_id), db_int(key->agent_id), db_text(body->agent_version),
                db_text(body->description), db_text(body->telemetry_doc),
                rows_opt_int_value(body->interval_seconds), db_text(rows->inputs),
                db_text(rows->outputs), db_text(rows->config_schema), db_int(key->received_at));
    const struct db_args kpis =
        DB_ARGS(db_int(key->tenant_id), db_int(key->agent_id), db_text(rows->kpis));

    if (db_run(db, &update_agent, agent, err) != 0)
        return -1;
    if (db_changes(db) == 0) /* no constraint would say so: it was erased with its tenant */
        return err_set(err, ERR_NOT_FOUND, "there is no agent '%.*s'", STR_ARG(body->agent_name));
    if (strcmp(db_dialect(db), "sqlite") == 0)
        return put_kpis_one_by_one(db, key, rows, err);
    if (pg_arrays_suit(db))
        return db_run(db, &replace_kpis, kpis, err);
    if (db_run(db, &delete_kpis, kpis, err) != 0)
        return -1;
    if (body->business_kpis.n == 0)
        return 0;
    return db_run(db, &insert_kpis, kpis, err);
}

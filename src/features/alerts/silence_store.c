/* silence_store.c - SQL of what agents are judged by. */
#include "features/alerts/silence_store.h"

#include "db/db.h"
#include "shape/rows.h"

/* clang-format off */
#define FACTS                                                                                      \
    "SELECT a.tenant_id, a.agent_id, a.enabled, a.deleted_at, a.interval_seconds, s.last_seen_at," \
    " a.muted_until, l.alert_id, l.since_at, l.limit_seconds"
#define FROM                                                                                       \
    " FROM agents a"                                                                               \
    " JOIN agent_signs s ON s.tenant_id = a.tenant_id AND s.agent_id = a.agent_id"                 \
    " LEFT JOIN alerts l ON l.tenant_id = a.tenant_id AND l.type = 'agent.silent'"                 \
    " AND l.agent_id = a.agent_id AND l.subject = '' AND l.open = 1"

static const struct db_query all_silences = {
    .sql = FACTS FROM " WHERE (a.enabled = 1 AND a.deleted_at IS NULL AND a.interval_seconds > 0)"
           " OR l.alert_id IS NOT NULL"
           " ORDER BY a.tenant_id, a.agent_id",
};
static const struct db_query hold = {
    .sqlite = FACTS ", COALESCE(a.full_name, a.agent_name)" FROM
              " WHERE a.tenant_id = $1 AND a.agent_id = $2",
    .postgres = FACTS ", COALESCE(a.full_name, a.agent_name)" FROM
                " WHERE a.tenant_id = $1 AND a.agent_id = $2 FOR UPDATE OF s",
};
/* clang-format on */

static bool add_row(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;
    struct silence_row *r = rows_add(rows);

    r->tenant_id = db_get_int(row, 0);
    r->agent_id = db_get_int(row, 1);
    r->deleted = !db_is_null(row, 3);
    r->enabled = db_get_int(row, 2) != 0 && !r->deleted;
    r->interval_seconds = rows_opt_int(row, 4);
    r->last_seen_at = rows_time(row, 5);
    r->muted_until = rows_time(row, 6);
    r->alert_id = rows_text(rows->arena, row, 7);
    r->since_at = rows_time(row, 8);
    r->limit_seconds = rows_opt_int(row, 9);
    return true;
}

static bool add_held(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;

    (void)add_row(rows, row);
    ((struct silence_row *)rows->items)[rows->n - 1].agent_name = rows_text(rows->arena, row, 10);
    return false;
}

int store_silences(struct db *db, struct arena *arena, struct list *ret, struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct silence_row) };

    if (db_exec(db, &all_silences, DB_NO_ARGS, add_row, &rows, err) != 0)
        return -1;
    *ret = (struct list){ rows.items, rows.n };
    return 0;
}

int store_silence_hold(struct db *db, int64_t tenant_id, int64_t agent_id, struct arena *arena,
                       struct silence_row *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_int(agent_id));
    struct rows rows = { .arena = arena, .size = sizeof(struct silence_row) };

    if (db_exec(db, &hold, args, add_held, &rows, err) != 0)
        return -1;
    *ret = rows.n == 0 ? (struct silence_row){ 0 } : *(struct silence_row *)rows.items;
    return 0;
}

/* rollup_build.c - builds the totals of values stored before totals existed. */
#include "db/db.h"
#include "features/kpis/report_sums.h"
#include "features/kpis/rollup_group.h"

enum { STEP = 20000 }; /* values per rollups_settle(): limits memory */

/* clang-format off */
/* The process that changes the row builds; in PostgreSQL others wait for it. */
DB_QUERY(claim, "UPDATE change_numbers SET number = 1 WHERE topic = 'rollups' AND number = 0");
/* Totals of deleted values cannot be rebuilt, so these tenants are left out. */
#define OF_WHOLE                                                                                   \
    " tenant_id NOT IN (SELECT tenant_id FROM retention WHERE business_until IS NOT NULL)"
DB_QUERY(delete_rollups, "DELETE FROM business_rollups WHERE" OF_WHOLE);
DB_QUERY(select_step,
    "SELECT " BUSINESS_VALUE_SUMMED("") " FROM business_values WHERE (tenant_id, run_no, key) > ($1, $2, $3)"
    " AND" OF_WHOLE " ORDER BY tenant_id, run_no, key LIMIT $4");
/* clang-format on */

struct step {
    struct rollups *rollups;
    size_t n;
    int64_t tenant_id, run_no; /* of the last row */
    char key[NAME_KEY_LEN_MAX];
    size_t key_len;
};

static bool rollup_build_add_row(void *ctx, const struct db_row *row)
{
    struct step *s = ctx;
    const struct kpi_stamp place = { db_get_int(row, VALUE_AT_TIMESTAMP),
                                     db_get_int(row, VALUE_AT_RECEIVED),
                                     db_get_int(row, VALUE_AT_RUN_NO) };
    const struct kpi_value value = kpi_value_read(row, VALUE_AT_NUMBER);
    const struct rollup_owner owner = { .tenant_id = db_get_int(row, VALUE_AT_TENANT),
                                        .agent_id = db_get_int(row, VALUE_AT_AGENT),
                                        .key = { db_get_text(row, VALUE_AT_KEY),
                                                 db_get_text(row, VALUE_AT_FULL_KEY) } };

    if (row_sum_check(&business_value_sum, row, 0)) /* the service must start all the same */
        rollups_add(s->rollups, &owner, &value, &place);
    s->n++;
    s->tenant_id = owner.tenant_id;
    s->run_no = place.run_no;
    s->key_len = owner.key.key.len;
    memcpy(s->key, owner.key.key.data, s->key_len);
    return true;
}

static int build(struct db *db, struct rollups *rollups, struct error *err)
{
    struct step s = { .rollups = rollups };

    if (db_run(db, &delete_rollups, DB_NO_ARGS, err) != 0)
        return -1;
    do {
        const struct db_args args = DB_ARGS(db_int(s.tenant_id), db_int(s.run_no),
                                            db_text(str_from(s.key, s.key_len)), db_int(STEP));

        s.n = 0;
        if (db_exec(db, &select_step, args, rollup_build_add_row, &s, err) != 0 ||
            rollups_settle(rollups, db, err) != 0)
            return -1;
    } while (s.n == STEP);
    return 0;
}

int store_rollups_build(struct db *db, struct error *err)
{
    struct rollups *rollups;
    int r = -1;

    if (db_begin(db, err) != 0)
        return -1;
    rollups = rollups_new();
    if (db_run(db, &claim, DB_NO_ARGS, err) == 0 &&
        (db_changes(db) == 0 || build(db, rollups, err) == 0))
        r = db_commit(db, err);
    if (r != 0)
        db_rollback(db);
    rollups_free(rollups);
    return r;
}

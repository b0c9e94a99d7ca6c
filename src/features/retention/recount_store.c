/* recount_store.c - SQL that adds up what the rows of a tenant's reports, notes and documents take.
 */
#include "features/retention/recount_store.h"

#include "db/db.h"
#include "features/access/stored_bytes.h"
#include "features/alerts/alerts.h"
#include "features/cost/report_sums.h"
#include "features/events/event_rows.h"
#include "features/kpis/report_sums.h"

/* clang-format off */
#define SUM_OF(table, bytes) "SELECT CAST(COALESCE(SUM(" bytes "), 0) AS BIGINT) FROM " table " WHERE tenant_id = $1"
#define SUMS(table, bytes) { .sqlite = SUM_OF(table, bytes(STORED_TEXT_SQLITE)), .postgres = SUM_OF(table, bytes(STORED_TEXT_POSTGRES)) }

static const struct db_query sums[] = {
    { .sqlite = SUM_OF("events", EVENT_STORED_BYTES_SQLITE), .postgres = SUM_OF("events", EVENT_STORED_BYTES_POSTGRES) },
    SUMS("business_values", BUSINESS_VALUE_BYTES),
    SUMS("business_breakdowns", BUSINESS_BREAKDOWN_BYTES),
    SUMS("llm_usage", USAGE_BYTES),
    SUMS("alert_history", ALERT_NOTE_BYTES),
    { .sql = SUM_OF("agent_documents", STORED_ROW " + bytes") },
};
/* clang-format on */

static int compare(struct db *db, int64_t tenant_id, int64_t *ret, struct error *err)
{
    int64_t counted = 0, there = 0;

    if (store_tenant_counted(db, tenant_id, &counted, err) != 0)
        return -1;
    for (size_t i = 0; i < COUNT_OF(sums); i++) {
        int64_t bytes = 0;

        if (db_exec(db, &sums[i], DB_ARGS(db_int(tenant_id)), db_read_int, &bytes, err) != 0)
            return -1;
        there += bytes;
    }
    *ret = there - counted;
    return 0;
}

int store_recount(struct db *db, int64_t tenant_id, int64_t *ret, struct error *err)
{
    if (db_begin(db, err) != 0)
        return -1;
    return db_end_read(db, compare(db, tenant_id, ret, err));
}

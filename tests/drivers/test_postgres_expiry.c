/* test_postgres_expiry.c - business runs that are old go as a whole. */
#include "db/migrate.h"
#include "features/retention/expiry_store.h"
#include "suite.h"

static const char fill[] =
    "INSERT INTO tenants (slug, name, max_agents, rate_limit, created_at) VALUES"
    " ('acme', '', 9, 9, 0);"
    "INSERT INTO agents (tenant_id, agent_name, enabled, first_seen_at) VALUES (1, 'a', 1, 0);"
    "INSERT INTO business_runs (tenant_id, agent_id, run_id, timestamp, agent_version)"
    " SELECT 1, 1, md5(i::text), i, '' FROM generate_series(1, 20000) i;"
    "INSERT INTO business_values SELECT 1, i, 'k', NULL, 1, i, i, i, NULL, NULL"
    " FROM generate_series(1, 20000) i;"
    "INSERT INTO business_breakdowns SELECT 1, i, 'm', '[]', NULL, 1, i, i, '[]'"
    " FROM generate_series(1, 20000) i;";

/* With 8 more values for each run, and very many for one; what is left in between is for the next
 * call. */
TEST(business_runs_are_deleted_with_all_their_rows)
{
    static const struct db_query halves = {
        .sql = "SELECT COUNT(*) FROM business_runs r WHERE (SELECT COUNT(*) FROM business_values v"
               " WHERE v.tenant_id = 1 AND v.run_no = r.run_no) <> CASE WHEN r.run_no = 301 THEN"
               " 2509 ELSE 9 END OR NOT EXISTS (SELECT 1 FROM business_breakdowns b"
               " WHERE b.tenant_id = 1 AND b.run_no = r.run_no)",
    };
    static const struct db_query runs = {
        .sql = "SELECT COUNT(*) FROM business_runs WHERE timestamp <= 400",
    };
    static const struct db_query orphans = {
        .sql = "SELECT COUNT(*) FROM business_values v WHERE NOT EXISTS (SELECT 1 FROM"
               " business_runs r WHERE r.tenant_id = 1 AND r.run_no = v.run_no)",
    };
    struct db *db = suite_open(suite_new_database(), DB_WRITER);
    const struct expiry_reports which = { .tenant_id = 1,
                                          .before = 401,
                                          .max = expiry_portion(db) };
    struct expired_reports gone = { .rows = 1 };
    struct error err = { 0 };
    int64_t reports = 0;

    if (store_migrate(db, &err) != 0)
        fail_msg("%s", err.text);
    suite_script(db, fill);
    suite_script(db, "INSERT INTO business_values SELECT 1, i, 'k' || j, NULL, 1, i, i, i, NULL,"
                     " NULL FROM generate_series(1, 20000) i, generate_series(1, 8) j;"
                     "INSERT INTO business_values SELECT 1, 301, 'm' || j, NULL, 1, 301, 301, 301,"
                     " NULL, NULL FROM generate_series(1, 2500) j");
    while (gone.rows > 0) {
        if (db_begin(db, &err) != 0 || expire_business(db, &which, &gone, &err) != 0 ||
            db_commit(db, &err) != 0)
            fail_msg("%s", err.text);
        CHECK(gone.rows <= 3 * which.max);
        CHECK(suite_int(db, &halves) <= (reports >= 300 && reports < 301)); /* the large one */
        CHECK_INT(suite_int(db, &orphans), 0);
        reports += gone.reports;
        CHECK_INT(suite_int(db, &runs), 400 - reports);
    }
    CHECK_INT(reports, 400);
    db_close(db);
}

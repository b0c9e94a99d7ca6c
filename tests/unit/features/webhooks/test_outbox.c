/* test_outbox.c - the deliveries of messages, and how many may wait. */
#include "db/db.h"
#include "features/webhooks/outbox.h"
#include "features/webhooks/store.h"
#include "unit/temp_db.h"

enum { TENANT = 1, OTHER = 2 };

static struct db *db;

static void add_webhooks(void)
{
    static const struct db_query add = {
        .sql = "INSERT INTO webhooks (tenant_id, webhook_id, url, format, types, label, enabled,"
               " created_at, secret) VALUES (1, 'a', 'https://a.example/', 0, '', '', 1, 1, x'00'),"
               " (1, 'b', 'https://b.example/', 0, 'run.failed', '', 1, 2, x'00'),"
               " (2, 'c', 'https://c.example/', 0, '', '', 1, 3, x'00')",
    };

    CHECK(db_run(db, &add, DB_NO_ARGS, NULL) == 0);
}

static void add_waiting(int64_t n)
{
    static const struct db_query add = {
        .sql =
            "WITH RECURSIVE more (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM more WHERE n < $1)"
            " INSERT INTO deliveries (tenant_id, delivery_id, webhook_id, message_id, created_at,"
            " state, attempts, next_at) SELECT 1, 'dlv_' || n, 'a', 'msg', 1, 0, 0, 1 FROM more",
    };

    CHECK(db_run(db, &add, DB_ARGS(db_int(n)), NULL) == 0);
}

static void tell(int64_t tenant_id)
{
    const struct outbox_message message = {
        .tenant_id = tenant_id, .type = STR_LIT("run.failed"), .data = STR_LIT("{}"), .at = 1
    };

    CHECK(outbox_add(db, &message, 1, NULL) == 0);
    CHECK(outbox_fan_out(db, tenant_id, NULL) == 0);
}

static int64_t waiting(int64_t tenant_id)
{
    int64_t n;

    CHECK(delivery_store_waiting(db, tenant_id, INT64_MAX, &n, NULL) == 0);
    return n;
}

static int64_t pending(void)
{
    int64_t tenant_id;

    CHECK(delivery_store_messages_next_tenant(db, 0, &tenant_id, NULL) == 0);
    return tenant_id;
}

TEST(each_webhook_that_subscribes_gets_a_delivery)
{
    db = temp_db_open(temp_db_migrated(), DB_WRITER);
    add_webhooks();
    tell(TENANT);
    CHECK_INT(waiting(TENANT), 2);
    CHECK_INT(waiting(OTHER), 0);
    CHECK_INT(pending(), 0);
    db_close(db);
}

TEST(a_tenant_with_too_many_waiting_gets_no_more_and_others_do)
{
    db = temp_db_open(temp_db_migrated(), DB_WRITER);
    add_webhooks();
    add_waiting(DELIVERIES_WAITING_MAX - 3);
    tell(TENANT);
    CHECK_INT(waiting(TENANT), DELIVERIES_WAITING_MAX - 1);
    tell(TENANT); /* one of its two finds room */
    tell(TENANT);
    CHECK_INT(waiting(TENANT), DELIVERIES_WAITING_MAX);
    CHECK_INT(pending(), 0); /* they do not wait as messages either */
    tell(OTHER);
    CHECK_INT(waiting(OTHER), 1);
    db_close(db);
}

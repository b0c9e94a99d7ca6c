/* test_webhooks_store.c - what a webhook did is counted, and what is old deleted, without a look at
 * the rest. */
#include "features/webhooks/store.h"

#include "unit/plan.h"

/* A list of 100 webhooks read all deliveries of the tenant 100 times. */
TEST(deliveries_of_a_webhook_are_counted_by_its_index)
{
    plan_check(&webhook_use_query, DB_ARGS(db_int(1), db_text(STR_LIT("whk_1"))),
               "SEARCH deliveries USING INDEX deliveries_log (tenant_id=? AND webhook_id=?)\n");
}

/* An hourly step read all deliveries and messages of each tenant that had an old one. */
TEST(what_is_old_is_deleted_without_reading_the_rest_of_its_tenant)
{
    const struct db_args args = DB_ARGS(db_int(1), db_int(1000));

    plan_check(&forget_deliveries_query, args,
               "SEARCH deliveries USING PRIMARY KEY (tenant_id=? AND delivery_id=?)\n"
               "LIST SUBQUERY 1\n"
               "SEARCH deliveries USING INDEX deliveries_old (created_at<?)\n");
    plan_check(&forget_messages_query, args,
               "SEARCH messages USING PRIMARY KEY (tenant_id=? AND message_id=?)\n"
               "LIST SUBQUERY 2\n"
               "SEARCH m USING INDEX messages_old (created_at<?)\n");
}

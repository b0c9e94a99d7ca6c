/* test_webhooks_store.c - what a webhook did is counted without a look at those of others. */
#include "features/webhooks/store.h"

#include "unit/plan.h"

/* A list of 100 webhooks read all deliveries of the tenant 100 times. */
TEST(deliveries_of_a_webhook_are_counted_by_its_index)
{
    plan_check(&webhook_use_query, DB_ARGS(db_int(1), db_text(STR_LIT("whk_1"))),
               "SEARCH deliveries USING INDEX deliveries_log (tenant_id=? AND webhook_id=?)\n");
}

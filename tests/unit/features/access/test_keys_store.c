/* test_keys_store.c - keys that ended cost nothing when the others are counted. */
#include "features/access/keys.h"

#include "unit/plan.h"

TEST(keys_in_use_are_counted_by_an_index_of_these_alone)
{
    plan_check(&keys_in_use_query, DB_ARGS(db_int(1)),
               "SEARCH keys USING INDEX keys_in_use (tenant_id=?)\n");
}

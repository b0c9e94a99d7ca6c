/* shapes.c - the query of a workspace's metrics. */
#include "features/scrape/shapes.h"

#include "shape/rule.h"
#include "shape/table.h"

static void check_scrape(void *value, struct arena *arena, struct problems *problems)
{
    const struct scrape_query *q = value;

    rule_check_range(problems, arena, q->time_range);
}

/* clang-format off */
SHAPE(scrape_query, "ScrapeQuery", (.rules = check_scrape),
    STR(time_range, .pattern = TIME_RANGE_PATTERN, .absent = "\"24h\"", .doc = "What runs, tokens, cost and KPIs are totalled over. " TIME_RANGE_DOC));
/* clang-format on */

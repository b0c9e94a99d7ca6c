/* shapes.c - the query of a workspace's metrics. */
#include "features/scrape/shapes.h"

#include "shape/rule.h"
#include "shape/table.h"

/* clang-format off */
SHAPE(scrape_query, "ScrapeQuery", (.row_rules = true),
    STR(time_range, .rule = rule_time_range, .pattern = TIME_RANGE_PATTERN, .absent = "\"24h\"", .doc = "What runs, tokens, cost and KPIs are totalled over. " TIME_RANGE_DOC));
/* clang-format on */

/* retention_shapes.c - the table of how long data is kept. */
#include "features/access/retention_shapes.h"

#include "shape/table.h"

/* clang-format off */
#define OWNER struct retention_limits
#define DAYS .least = 1, .most = RETENTION_DAYS_MAX, .flags = F_NULL
SHAPE_BEGIN(retention_shape)
    { OPT_INT(events_days),   DAYS, .doc = "Runs with their events are deleted when their last event is older. Null: never." },
    { OPT_INT(business_days), DAYS, .doc = "Business reports are deleted when they are older; totals stay. Null: never." },
    { OPT_INT(llm_days),      DAYS, .doc = "LLM reports are deleted when they are older; sums by hour and day stay. Null: never." },
    { INT(keep_failed_runs),  .least = 0, .most = RETENTION_FAILED_MAX, .absent = "0", .doc = "How many failed runs of each agent, the newest, are kept whatever their age." },
SHAPE_END(retention_shape, "Retention", .doc = "How long a tenant's data is kept. What is left out is kept for ever.");
#undef DAYS
#undef OWNER
/* clang-format on */

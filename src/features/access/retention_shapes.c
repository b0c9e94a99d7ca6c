/* retention_shapes.c - the shape of retention limits. */
#include "features/access/retention_shapes.h"

#include "shape/table.h"

/* clang-format off */
#define DAYS .least = 1, .most = RETENTION_DAYS_MAX, .flags = F_NULL
SHAPE_TABLE(, retention_shape, struct retention_limits, "Retention", (.doc = "How long a tenant's data is kept. Data without a limit is kept forever.",
      .example = EXAMPLE({"events_days": 90, "business_days": null, "llm_days": 365, "keep_failed_runs": 20})),
    OPT_INT(events_days,   DAYS, .doc = "Delete runs with their events when the last event is older than this. Null: never."),
    OPT_INT(business_days, DAYS, .doc = "Delete business reports older than this; totals are kept. Null: never."),
    OPT_INT(llm_days,      DAYS, .doc = "Delete LLM reports older than this; hourly and daily totals are kept. Null: never."),
    INT(keep_failed_runs,  .least = 0, .most = RETENTION_FAILED_MAX, .absent = "0", .doc = "Newest failed runs to keep per agent, whatever their age."));
#undef DAYS
/* clang-format on */

/* answers.c - the tables of health, limits and errors. */
#include "api/answers.h"

#include "shape/table.h"

static const char *const health_states[] = { "ok", "unavailable", NULL };
static const char *const units[] = { "events", "bytes", NULL };

/* clang-format off */
#define OWNER struct health_answer
SHAPE_BEGIN(health_answer_shape)
    { STR(status), .flags = F_REQUIRED, .choices = health_states },
SHAPE_END(health_answer_shape, "Health", .doc = "Whether the service is up.");
#undef OWNER

#define OWNER struct limits_answer
SHAPE_BEGIN(limits_answer_shape)
    { INT(batch_max_events),    .flags = F_REQUIRED, .doc = "Events in one batch." },
    { INT(batch_max_bytes),     .flags = F_REQUIRED, .doc = "Bytes of a batch's body." },
    { INT(body_max_bytes),      .flags = F_REQUIRED, .doc = "Bytes of any other body." },
    { INT(business_max_bytes),  .flags = F_REQUIRED, .doc = "Bytes of a business report's body." },
    { INT(rate_limit),          .flags = F_REQUIRED, .doc = "Requests of one token in a window." },
    { INT(rate_window_seconds), .flags = F_REQUIRED },
    { INT(max_agents),          .flags = F_REQUIRED, .doc = "Agents of the tenant." },
SHAPE_END(limits_answer_shape, "Limits", .doc = "What the service takes from this token.");
#undef OWNER

#define OWNER struct error_answer
SHAPE_BEGIN(error_answer_shape)
    { STR(detail),    .flags = F_REQUIRED, .doc = "What was wrong, and what to do." },
    { OPT_INT(limit), .flags = F_OMIT, .doc = "The limit that was exceeded (413)." },
    { STR(unit),      .flags = F_OMIT, .choices = units, .doc = "What the limit counts (413)." },
SHAPE_END(error_answer_shape, "Error", .doc = "Any error but failed validation.");
#undef OWNER
/* clang-format on */

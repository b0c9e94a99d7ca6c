/* answers.c - the tables of health, limits and errors. */
#include "api/answers.h"

#include "shape/table.h"

static const char *const health_states[] = { "ok", "unavailable", NULL };
static const char *const units[] = { "events", "bytes", NULL };

/* clang-format off */
#define MEMBER(m) m

#define OWNER struct health_answer
static const struct field health_fields[] = {
    { STR(status), .flags = F_REQUIRED, .choices = health_states },
};
#undef OWNER

#define OWNER struct limits_answer
static const struct field limits_fields[] = {
    { INT(batch_max_events),    .flags = F_REQUIRED, .doc = "Events in one batch." },
    { INT(batch_max_bytes),     .flags = F_REQUIRED, .doc = "Bytes of a batch's body." },
    { INT(body_max_bytes),      .flags = F_REQUIRED, .doc = "Bytes of any other body." },
    { INT(business_max_bytes),  .flags = F_REQUIRED, .doc = "Bytes of a business report's body." },
    { INT(rate_limit),          .flags = F_REQUIRED, .doc = "Requests of one token in a window." },
    { INT(rate_window_seconds), .flags = F_REQUIRED },
    { INT(max_agents),          .flags = F_REQUIRED, .doc = "Agents of the tenant." },
};
#undef OWNER

#define OWNER struct error_answer
static const struct field error_fields[] = {
    { STR(detail),    .flags = F_REQUIRED, .doc = "What was wrong, and what to do." },
    { OPT_INT(limit), .flags = F_OMIT, .doc = "The limit that was exceeded (413)." },
    { STR(unit),      .flags = F_OMIT, .choices = units, .doc = "What the limit counts (413)." },
};
#undef OWNER

#undef MEMBER
/* clang-format on */

const struct shape health_answer_shape = {
    SHAPE_OF("Health", struct health_answer, health_fields),
    .doc = "Whether the service is up.",
};

const struct shape limits_answer_shape = {
    SHAPE_OF("Limits", struct limits_answer, limits_fields),
    .doc = "What the service takes from this token.",
};

const struct shape error_answer_shape = {
    SHAPE_OF("Error", struct error_answer, error_fields),
    .doc = "Any error but failed validation.",
};

/* report.h - what the channels on which agents report have in common. */
#pragma once
#include <stdbool.h>

#include "api/call.h"
#include "base/str.h"
#include "features/kpis/reports.h"

/* How a verdict is told. */
struct report_words {
    struct str status;
    struct str reason, detail; /* STR_NULL unless rejected */
};

/* False when it has answered 403, since the plan allows no further agent. In the call's arena. */
bool report_words(struct api_call *call, enum verdict verdict, struct str agent_name,
                  struct report_words *ret);

/* A business or LLM-usage report on its way through the writer. */
struct report_call {
    struct report_request request;
    struct api_call *call;
    call_end_fn *end; /* once it is stored, with the report as call->answer */
};

/* The call's report, filled in but for its body; NULL when it has answered 403. An empty client_id
 * is the key's own. */
struct report_call *report_begin(struct api_call *call, struct str client_id, struct str agent_name,
                                 call_end_fn *end);

/* report.h - what the routes on which agents report have in common. */
#pragma once
#include "api/call.h"
#include "base/str.h"
#include "features/kpis/reports.h"

/* A verdict in the words of an answer. */
struct report_words {
    struct str status;
    struct str reason, detail; /* STR_NULL unless rejected */
};

/* Fails with 403 when the plan allows no further agent. In the call's arena. */
int report_words(struct api_call *call, enum verdict verdict, struct str agent_name,
                 struct report_words *ret, struct error *err) MUST_CHECK;

/* Makes call->own a business or LLM-usage report, filled in but for its body. An empty client_id is
 * the key's own. Fails with 403. */
int report_begin(struct api_call *call, struct str client_id, struct str agent_name,
                 struct report_request **ret, struct error *err) MUST_CHECK;

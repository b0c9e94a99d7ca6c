/* over_quota.h - reports of a tenant that has reached the quota of its plan. */
#pragma once
#include "api/call.h"
#include "base/str.h"

/* Has the caller's tenant reached it? */
bool over_quota(const struct api_call *call);

/* Answers 507 once the writer has noted that the agent was seen: what it sent is refused, but it is
 * not silent. An unknown agent is not added. The name lives as long as the call's arena. */
int over_quota_refuse(struct api_call *call, struct str agent_name, struct error *err) MUST_CHECK;

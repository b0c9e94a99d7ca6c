/* over_quota.h - reports of a tenant that has reached the quota of its plan. */
#pragma once
#include "api/call.h"
#include "base/str.h"

/* Has the caller's tenant reached it? */
bool over_quota(const struct api_call *call);

/* Answers 507 once the writer has noted that these agents were seen: what they sent is refused, but
 * they are not silent. A name may be there several times; unknown agents are not added. The names
 * live as long as the call's arena. */
int over_quota_refuse(struct api_call *call, const struct str *names, size_t n,
                      struct error *err) MUST_CHECK;

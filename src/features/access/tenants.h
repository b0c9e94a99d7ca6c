/* tenants.h - what other features ask about tenants. */
#pragma once
#include "api/route.h"

/* Answers the tenant of the path with its plan and usage (struct tenant_plan). ERR_NOT_FOUND. */
call_work_fn tenants_show;

/* auth.h - who calls, and whether they may. */
#pragma once
#include <stdbool.h>

#include "base/str.h"

struct api_call;

/* Finds the key behind the token, the person behind the cookie, or the operator. A request with an
 * Authorization header is a key's, whatever cookies it has. False when it has answered 401. A
 * well-formed token or cookie that is not good sets call->unknown_token; key_check.h goes on from
 * there. */
bool auth_identify(struct api_call *call);

/* Looks the token's or cookie's digest up once more; true when it is known now. */
bool auth_look_up(struct api_call *call);

/* Is this route for this caller, and the path's tenant theirs? False when it has answered. */
bool auth_authorize(struct api_call *call);

/* May the key report for this tenant (STR_NULL: its own) under this agent's name? False when it
 * has answered 403. */
bool auth_may_report(struct api_call *call, struct str client_id, struct str agent_name);

/* Is the caller more than a member of the path's tenant? The operator is. */
bool auth_is_admin(const struct api_call *call);

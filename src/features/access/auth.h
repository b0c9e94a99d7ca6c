/* auth.h - authentication and authorization of callers. */
#pragma once
#include <stdbool.h>

#include "base/address.h"
#include "base/err.h"
#include "base/str.h"

struct api_call;

/* The API's hooks that this feature implements; see api.h. */
extern const struct api_hooks access_hooks;

/* Finds the key behind the token, the user behind the cookie, or the operator. A request with an
 * Authorization header counts as a key's, whatever cookies it has. A well-formed token or cookie
 * that is not known here sets call->unknown_token; key_check() of hooks.c continues from there. */
int auth_identify(struct api_call *call, struct error *err) MUST_CHECK;

/* Looks up the digest of the token or cookie again; true when it is known now. */
bool auth_look_up(struct api_call *call);

/* May the caller use this route and the path's tenant? Fails with 403 or 404. */
int auth_authorize(struct api_call *call, struct error *err) MUST_CHECK;

/* May the key report for this tenant (STR_NULL: its own) under this agent's name? Fails with 403.
 */
int auth_may_report(struct api_call *call, struct str client_id, struct str agent_name,
                    struct error *err) MUST_CHECK;

/* 507: the tenant has reached the quota of its plan. */
int auth_refuse_quota(struct api_call *call, struct error *err) MUST_CHECK;

/* Is the caller an admin of the path's tenant? The operator is. */
bool auth_is_admin(const struct api_call *call);

/* May the caller of a stream have the rest of it? Not once the key was revoked, has expired or is
 * past its grace, the session ended, or the user lost their role. A session is looked up every
 * `period_s`, of which *checked_us (monotonic) keeps count; that does not keep it alive. */
bool auth_may_go_on(const struct api_call *call, int64_t *checked_us, int period_s);

/* The caller's name for the audit log; in the arena. */
struct str auth_actor(const struct api_call *call);

/* The address that the request came from; behind trusted proxies, the client's. ADDRESS_NONE: a
 * unix socket, or a command in this process. */
struct address auth_address(const struct api_call *call);

/* The same as text, in the arena: an address without its port, "unix" or "local". */
struct str auth_origin(struct api_call *call);

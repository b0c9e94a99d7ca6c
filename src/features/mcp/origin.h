/* origin.h - protection of a local service against pages of other sites. */
#pragma once
#include "base/err.h"

struct api_call;

/* A page in a browser names its site in Origin. Only this service's own pages pass, and programs,
 * which send no Origin. A name in Host proves nothing, since a hostile site can have its name
 * resolve to this machine (DNS rebinding): only the public address, a literal IP address and
 * localhost count as this service. Fails with 403. */
int mcp_check_origin(struct api_call *call, struct error *err) MUST_CHECK;

/* origin.c - compares Origin with the addresses that this service is known by. */
#include "features/mcp/origin.h"

#include "api/api.h"
#include "api/call.h"
#include "base/address.h"
#include "http/exchange.h"

/* HOST[:PORT] of "scheme://HOST[:PORT]"; STR_NULL for anything else, such as "null". */
static struct str host_of(struct str origin)
{
    struct str rest = origin;

    (void)str_split(&rest, ':');
    if (str_is_null(rest) || !str_starts(rest, STR_LIT("//")))
        return STR_NULL;
    return str_from(rest.data + 2, rest.len - 2);
}

/* Does the name stand for the same machine everywhere? */
static bool is_fixed(struct str host)
{
    struct str name = host;
    struct address address;

    return address_parse_peer(host, &address) ||
           str_eq_nocase(str_split(&name, ':'), STR_LIT("localhost"));
}

static bool is_own(const struct api_call *call, struct str host)
{
    if (str_is_null(host))
        return false;
    if (!str_is_null(call->api->public_host) && str_eq_nocase(host, call->api->public_host))
        return true;
    return is_fixed(host) && str_eq_nocase(host, http_header_get(&call->exchange->request, "host"));
}

int mcp_check_origin(struct api_call *call, struct error *err)
{
    struct str origin = http_header_get(&call->exchange->request, "origin");

    if (str_is_null(origin) || is_own(call, host_of(origin)))
        return 0;
    return call_refuse(call, err, 403,
                       "This request comes from a page of another site: Origin is not this "
                       "service's public address");
}

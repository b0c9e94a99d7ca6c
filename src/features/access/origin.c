/* origin.c - the address that a request came from, also behind a proxy. */
#include "features/access/auth.h"

#include "api/api.h"
#include "api/call.h"
#include "http/exchange.h"

/* "127.0.0.1:5678" and "[::1]:5678" without the port; "unix" and "local" as they are. */
static struct str without_port(struct str address)
{
    const char *colon = address.len == 0 ? NULL : memrchr(address.data, ':', address.len);

    if (colon == NULL)
        return address;
    address.len = (size_t)(colon - address.data);
    if (address.len > 2 && address.data[0] == '[')
        return str_from(address.data + 1, address.len - 2);
    return address;
}

static bool is_trusted(const struct api_call *call, struct str address)
{
    struct str rest = call->api->trusted_proxies;

    while (!str_is_null(rest))
        if (str_eq(str_trim(str_split(&rest, ',')), address))
            return true;
    return false;
}

/* Each proxy appends the address it saw: the last one that is not a trusted proxy is the client. */
static struct str client_of(const struct api_call *call, struct str proxy)
{
    struct str list = http_header_get(&call->exchange->request, "x-forwarded-for");
    struct str client = proxy;

    while (list.len > 0 && is_trusted(call, client)) {
        const char *comma = memrchr(list.data, ',', list.len);
        size_t begin = comma == NULL ? 0 : (size_t)(comma - list.data) + 1;

        client = str_trim(str_from(list.data + begin, list.len - begin));
        list.len = comma == NULL ? 0 : begin - 1;
    }
    return client;
}

/* A proxy may forward anything: only an address gets into logs and keys. */
static bool is_address(struct str s)
{
    enum { ADDRESS_MAX = 45 };

    for (size_t i = 0; i < s.len; i++)
        if (str_hex_digit(s.data[i]) < 0 && s.data[i] != '.' && s.data[i] != ':')
            return false;
    return s.len > 0 && s.len <= ADDRESS_MAX;
}

struct str auth_origin(struct api_call *call)
{
    struct str address = without_port(call->exchange->request.peer_address);
    struct str client = is_trusted(call, address) ? client_of(call, address) : address;

    return is_address(client) ? client : address;
}

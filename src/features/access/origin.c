/* origin.c - the address that a request came from, also behind proxies.
 *
 * Each proxy adds the address it saw at the end of X-Forwarded-For, in the same
 * line or in a new one: the lines count as one list, in their order. Only what
 * trusted proxies added is believed, so the list is read from its end: the first
 * address that is not a trusted proxy is the client, whatever stands before it.
 */
#include "features/access/auth.h"

#include "api/api.h"
#include "api/call.h"
#include "http/exchange.h"

/* Cuts the last of a comma-separated list off. */
static struct str take_last(struct str *list)
{
    const char *comma = memrchr(list->data, ',', list->len);
    size_t begin = comma == NULL ? 0 : (size_t)(comma - list->data) + 1;
    struct str last = str_from(list->data + begin, list->len - begin);

    list->len = comma == NULL ? 0 : begin - 1;
    return str_trim(last);
}

/* Moves *from back along one line, as long as it is a trusted proxy. False: no need to go on. */
static bool walk_back(const struct api_call *call, struct str line, struct address *from)
{
    while (line.len > 0) {
        struct str entry = take_last(&line);

        if (entry.len == 0)
            continue;
        /* a proxy may forward anything: what is no address ends the walk at that proxy */
        if (!address_parse_peer(entry, from) ||
            !address_list_has(&call->api->trusted_proxies, from))
            return false;
    }
    return true;
}

struct address auth_address(const struct api_call *call)
{
    const struct http_request *request = &call->exchange->request;
    struct address from = { .family = ADDRESS_NONE };
    size_t i = request->n_headers;

    if (!address_parse_peer(request->peer_address, &from) ||
        !address_list_has(&call->api->trusted_proxies, &from))
        return from;
    while (i-- > 0)
        if (str_eq(request->headers[i].name, STR_LIT("x-forwarded-for")) &&
            !walk_back(call, request->headers[i].value, &from))
            break;
    return from;
}

struct str auth_origin(struct api_call *call)
{
    const struct address from = auth_address(call);
    char text[ADDRESS_CHARS_MAX];

    if (from.family == ADDRESS_NONE)
        return call->exchange->request.peer_address;
    return arena_copy(call->arena, address_format(&from, text));
}

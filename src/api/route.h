/* route.h - the routes: what the API offers, one row each.
 *
 * Authentication, rate limit, input check and OpenAPI all read the row; a
 * handler sees good input only.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include <stdbool.h>

#include "base/str.h"
#include "http/exchange.h"
#include "shape/shape.h"

struct api_call;

/* Who may call. Beyond this, handlers check the names in what they are given. The operator is
 * whoever runs the service: over the unix socket, or from the command line. */
enum route_auth {
    AUTH_OPEN,      /* anybody */
    AUTH_ANY_KEY,   /* workspace key or per-agent key */
    AUTH_OWN_AGENT, /* a per-agent key, for its own agent */
    AUTH_USER,      /* anybody who is logged in; no key, and not the operator, who is nobody */
    AUTH_READ,      /* a workspace key of the tenant in the path, its people, the operator */
    AUTH_MEMBER,    /* people of the tenant in the path, the operator; no key */
    AUTH_ADMIN,     /* admins of the tenant in the path, the operator */
    AUTH_PLATFORM,  /* platform admins, the operator */
};

/* Which setting bounds the body; a document has a bound of its own, whatever is set. */
enum route_limit { LIMIT_BODY, LIMIT_BATCH, LIMIT_BUSINESS, LIMIT_DOCUMENT };

typedef void route_fn(struct api_call *call);

struct route {
    enum http_method method;
    const char *path; /* with {names} as segments */
    enum route_auth auth;
    const struct shape *body; /* of the request; NULL: none is read */
    route_fn *handler;
    int status;                 /* of success */
    const struct shape *answer; /* NULL: any JSON */
    const char *summary;
    const struct shape *params, *query; /* NULL: none */
    enum route_limit limit;
    bool tagged;              /* answers an ETag, and 304 to an If-None-Match that names it */
    bool page;                /* of the portal, or metrics: no part of the API's description */
    const char *const *media; /* media types of success, ends in NULL; NULL: JSON */
    const char *audit;        /* "noun.verb": a change, or secrets given out, for the audit log */
};

extern const struct route routes[];
extern const size_t n_routes;

enum { ROUTE_PARAMS_MAX = 4 };

/* The values of a path's {names}, in order, as sent. */
struct route_values {
    struct str names[ROUTE_PARAMS_MAX], values[ROUTE_PARAMS_MAX];
    size_t n;
};

/* NULL when no route has this path and method. A HEAD request takes the GET route. */
const struct route *route_find(enum http_method method, struct str path,
                               struct route_values *ret_values);

/* "GET, HEAD" and the like for a path that has routes; empty when it has none. */
struct str route_methods(struct str path, struct arena *arena);

const char *route_method_name(enum http_method method);

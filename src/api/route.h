/* route.h - routes: one row per operation, in the feature that serves it.
 *
 * Authentication, rate limit, input checks and the OpenAPI document all read the
 * row; a handler only ever sees valid input.
 *
 * Thread-safe: rows are const, and so is a table once it is built.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "engine/change.h"
#include "http/exchange.h"
#include "shape/shape.h"

struct api_call;
struct db;
struct feature;

/* Who may call. Handlers also check the names in the request. The operator is the system user that
 * runs the service (unix socket, command line). The order matters: features/access compares. */
enum route_auth {
    AUTH_OPEN,      /* everyone */
    AUTH_ANY_KEY,   /* workspace key, agent key or read-only key */
    AUTH_REPORT,    /* workspace key or agent key */
    AUTH_OWN_AGENT, /* an agent key, for its own agent */
    AUTH_READ_KEY,  /* a workspace key or read-only key, for its own tenant */
    AUTH_USER,      /* any signed-in user; no key, and not the operator */
    AUTH_READ,      /* a workspace or read-only key of the path's tenant, its users, the operator */
    AUTH_MEMBER,    /* users of the path's tenant, the operator; no key */
    AUTH_ADMIN,     /* admins of the path's tenant, the operator */
    AUTH_PLATFORM,  /* platform admins, the operator */
};

/* Which setting limits the size of the body. */
enum route_limit { LIMIT_BODY, LIMIT_BATCH, LIMIT_BUSINESS };

/* Answers that the other columns do not imply. */
enum route_also {
    ALSO_NOT_FOUND = 1,
    ALSO_CONFLICT = 2,
    ALSO_QUOTA = 4,
    ALSO_ACCEPTED = 8,
    ALSO_BUDGET = 16
};

/* Headers of success that the other columns do not imply. */
enum route_sends { SENDS_COOKIE = 1, SENDS_FILE_NAME = 2, SENDS_MISSING_KEYS = 4 };

/* A step of a call on the carrier's thread: replies, passes the call on, or fails with -1; its
 * caller then replies with `err` (call_reply()). */
typedef int call_step_fn(struct api_call *call, struct error *err);

/* Work of a call, mostly on another thread: fills all of *call->answer, or fails. It may be called
 * again, after a rollback or on another connection. */
typedef int call_work_fn(struct api_call *call, struct db *db, struct error *err);

/* Every error except 422. */
struct error_answer {
    struct str detail;
    struct opt_int limit; /* null (left out) except in a 413 */
    struct str unit;      /* events, bytes; left out except in a 413 */
};

extern const struct shape error_answer_shape;

struct buf;
struct call_refusal;

/* Writes call->answer, or a refusal, in the format of the route; returns its media type. */
typedef const char *call_write_fn(const struct api_call *call, const struct call_refusal *refusal,
                                  struct buf *out);

struct route {
    enum http_method method;
    const char *path; /* with {names} as segments */
    enum route_auth auth;
    int status; /* of success */

    /* The work. A handler runs first and may continue with call_proceed(). */
    call_step_fn *handler;   /* NULL: starts with the work */
    call_work_fn *read;      /* on a reader */
    call_work_fn *change;    /* on the writer, in a transaction */
    enum change_topic topic; /* of `change`: what this process reloads before the answer; left out:
                              * CHANGE_REGISTRY (0), that is tenants, keys and directives */

    const struct shape *params, *query; /* NULL: none */
    const struct shape *body;           /* of the request; NULL: not read */
    const struct shape *answer;         /* NULL: any JSON */
    const struct shape *unavailable;    /* body of a 503; NULL: an error like all others */
    const struct shape *refusal;        /* body of any error; NULL: as everywhere */
    call_write_fn *write;               /* of answers and errors; NULL: as JSON */
    enum route_limit limit;
    size_t body_max;          /* bytes, instead of a setting; 0: `limit` decides */
    int also;                 /* enum route_also */
    int sends;                /* enum route_sends */
    bool tagged;              /* answers an ETag, and 304 to an If-None-Match that names it */
    bool page;                /* a portal page or metrics: not in the OpenAPI document */
    const char *const *takes; /* media types of a body that the handler reads by itself, from
                               * call->exchange->request.body; ends in NULL; NULL: `body` does */
    const char *const *media; /* media types of success, ends in NULL; NULL: JSON */
    const char *audit;        /* "noun.verb": a change, or secrets handed out, for the audit log */

    /* For the OpenAPI document, unless it is a page. */
    const char *id; /* names the operation in generated clients: "list_runs" */
    const char *summary;
    const char *description; /* details for callers; the document adds who may call */
    const char *sample;      /* an example of a body or an answer that has no shape, in JSON */
};

/* Keys report and pull through it. Bodies of agents may have members that are not known here, as
 * the contract says. All other bodies are changes by people and operators, where an unknown member
 * is a typo: they are refused, so that it changes nothing. */
static inline bool route_is_for_agents(const struct route *route)
{
    return route->auth == AUTH_ANY_KEY || route->auth == AUTH_REPORT ||
           route->auth == AUTH_OWN_AGENT;
}

#define ROUTE(m, p, a, s) .method = METHOD_##m, .path = (p), .auth = AUTH_##a, .status = (s)

/* A row of a feature's table. */
struct route_entry {
    const struct route *route;
    const struct feature *feature;
    size_t segments; /* of the route's path */
};

struct route_index;

/* The routes of all features, in their order. */
struct route_table {
    struct route_entry *entries;
    size_t n;
    struct route_index *index;
};

/* `features` ends in NULL. route_table_done() frees the table. */
void route_table_init(struct route_table *table, const struct feature *const *features);
void route_table_done(struct route_table *table);

enum { ROUTE_PARAMS_MAX = 4 };

/* The values of a path's {names}, in order, as sent. */
struct route_values {
    struct str names[ROUTE_PARAMS_MAX], values[ROUTE_PARAMS_MAX];
    size_t n;
    size_t entry; /* of the route in its table */
};

/* NULL when no route has this path and method. A HEAD request takes the GET route. */
const struct route *route_find(const struct route_table *table, enum http_method method,
                               struct str path, struct route_values *ret_values);

/* The methods of a path, such as "GET, HEAD"; empty when it has no routes. */
struct str route_methods(const struct route_table *table, struct str path, struct arena *arena);

const char *route_method_name(enum http_method method);

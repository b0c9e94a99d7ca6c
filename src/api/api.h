/* api.h - the API as an application of the HTTP server. */
#pragma once
#include <stdbool.h>

#include "api/openapi.h"
#include "api/route.h"
#include "base/address.h"
#include "base/base.h"
#include "base/str.h"

struct budget;
struct db;
struct engine;
struct http_app;
struct http_header;
struct log_line;

/* Origins whose scripts may call (Cross-Origin Resource Sharing): none unless the setting
 * cors_origins names them. Such a script sends a key or a personal access token; cookies count for
 * nothing: the service never allows credentials, and refuses a change with a session's cookie that
 * another site made (features/access/auth.h). */
enum { CORS_ORIGINS_MAX = 32, CORS_HEADERS_MAX = 4 };

struct cors_origins {
    struct str items[CORS_ORIGINS_MAX]; /* such as "https://app.example.com:8443" */
    size_t n;
};

/* Bytes of a reply that is sent at once. */
enum { API_REPLY_MAX = 20 << 20 };

struct api_limits {
    size_t batch_max_events;
    size_t batch_max_bytes;
    size_t body_max_bytes; /* default limit of a body */
    size_t business_max_bytes;
};

/* Authentication and authorization, which a feature implements. On the carrier's thread. */
struct api_hooks {
    size_t caller_size; /* of struct caller, which is zeroed in each call */

    /* After the head of a request to a route that is not open: identifies the caller. If that needs
     * another thread, it sets exchange->waits and calls call_admit() later. */
    call_step_fn *identify;

    /* The caller is known, the body not yet read: cross-site requests and the rate limit. */
    call_step_fn *check_caller;

    /* The same: the budget that its body and reply count for; NULL: that of its address, or none.
     */
    struct budget *(*budget_of)(const struct api_call *call);

    /* The same, without a budget: has a trusted proxy named the caller's address? */
    bool (*named_address)(const struct api_call *call, struct address *ret);

    /* The body took long to arrive: refuses a caller who has lost access meanwhile. */
    call_step_fn *check_again;

    /* The input is valid: may this caller use this route, and the path's tenant? */
    call_step_fn *authorize;

    /* Adds the caller to the access log. */
    void (*log_caller)(const struct api_call *call, struct log_line *line);
};

/* Adds an audit entry about the caller, the action and call->audit_target, in the writer's
 * transaction. */
typedef int api_audit_fn(struct api_call *call, struct db *db, const char *action,
                         struct error *err);

/* Lives as long as its carrier. Borrows the engine. */
struct api {
    struct engine *engine;
    struct route_table routes; /* of all features */
    const struct api_hooks *hooks;
    api_audit_fn *audit;
    struct api_limits limits;
    struct openapi openapi;
    const char *version;
    const char *metrics_token; /* NULL or empty: only the operator may read metrics */
    int64_t started_at;        /* wall clock */
    bool secure;               /* reached over TLS: cookies are marked Secure */
    struct str public_host;    /* HOST[:PORT] of the portal's address; STR_NULL: not set */
    struct str own_url;    /* of its own listener, "http://127.0.0.1:8080"; STR_NULL: any free port,
                              and this process does not listen */
    bool own_url_is_local; /* it leads to the machine on which it is opened */
    struct address_list trusted_proxies; /* whose X-Forwarded-For counts */
    struct cors_origins cors;            /* pages whose scripts may call */
};

/* The slots of a carrier, with `api` as their context. */
void api_app(struct api *api, struct http_app *ret);

/* Cells of base/metrics.h per route: one per status that is counted separately. */
enum { API_STATUSES = 18 };

/* The counters of requests, in the text format of Prometheus. */
void api_print_requests(const struct route_table *table, struct buf *out);

/* Parses the value of the setting, which must stay. ERR_INVALID names what is wrong. */
int cors_read(const char *value, struct cors_origins *ret, struct error *err) MUST_CHECK;

/* The headers that a reply to this call carries for its origin, at most CORS_HEADERS_MAX; returns
 * how many. */
size_t cors_headers(const struct api_call *call, struct http_header *ret);

/* Answers the question of a browser that stands before such a call, if this is one and its origin
 * is in the list; false: it is an ordinary request. */
bool cors_preflight(struct api_call *call);

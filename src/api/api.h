/* api.h - the API as an application behind an HTTP carrier. */
#pragma once
#include <stdbool.h>

#include "api/route.h"
#include "base/base.h"
#include "base/str.h"

struct engine;
struct http_app;

struct api_limits {
    size_t batch_max_events;
    size_t batch_max_bytes;
    size_t body_max_bytes; /* any body that has no limit of its own */
    size_t business_max_bytes;
};

/* Lives as long as its carrier. Borrows the engine. */
struct api {
    struct engine *engine;
    struct route_table routes;
    struct api_limits limits;
    struct str openapi; /* the document, made once: openapi_write() */
    const char *version;
    const char *metrics_token;  /* NULL or empty: only the operator is told metrics */
    int64_t started_at;         /* wall clock */
    bool secure;                /* reached over TLS: cookies say so */
    struct str public_host;     /* HOST[:PORT] by which people reach it; STR_NULL: not set */
    struct str trusted_proxies; /* addresses whose X-Forwarded-For holds, separated by commas */
};

/* The slots of a carrier, with `api` as their context. */
void api_app(struct api *api, struct http_app *ret);

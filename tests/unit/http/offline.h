/* offline.h - a server without a socket: what the parser makes of bytes in given pieces. */
#pragma once
#include <stdlib.h>

#include "base/mem.h"
#include "http/parser.h"
#include "http/server.h"

enum { OFFLINE_BODY_MAX = 4096 };

struct offline {
    struct http_parser parser;
    struct http_exchange x;
    struct arena arena;
    struct http_body body;
    struct buf statuses, bodies; /* of all requests: "200 400", "GET / []; …" */
    size_t taken;                /* bytes of the stream that belong to complete requests */
    size_t pending;              /* bytes of the one under way */
    bool in_request, over;
};

static inline void offline_init(struct offline *o)
{
    *o = (struct offline){ 0 };
    http_body_init(&o->body);
    buf_init(&o->statuses, KIB(64));
    buf_init(&o->bodies, MIB(1));
}

static inline void offline_done(struct offline *o)
{
    arena_done(&o->arena);
    http_body_done(&o->body);
    buf_done(&o->statuses);
    buf_done(&o->bodies);
}

static inline void offline_answer(struct offline *o, int status)
{
    const struct http_request *r = &o->x.request;

    buf_printf(&o->statuses, "%s%d", o->statuses.len > 0 ? " " : "", status);
    if (status == 200) {
        buf_printf(&o->bodies, "%s%.*s %.*s%s%.*s [", o->bodies.len > 0 ? "; " : "",
                   STR_ARG(r->method_name), STR_ARG(r->path), str_is_null(r->query) ? "" : "?",
                   STR_ARG(r->query));
        buf_add(&o->bodies, r->body);
        buf_add_char(&o->bodies, ']');
        o->taken += o->pending;
    }
    o->pending = 0;
    o->in_request = false;
    o->over = status != 200 || !o->parser.keep_alive;
    arena_reset(&o->arena);
    http_body_reset(&o->body);
}

static inline void offline_step(struct offline *o, struct str *in, enum http_parse *r)
{
    size_t before = in->len;

    if (!o->in_request) {
        o->x.arena = &o->arena;
        o->x.body_max = OFFLINE_BODY_MAX;
        http_parser_begin(&o->parser, &http_default_limits, &o->x, &o->body);
        o->in_request = true;
    }
    *r = http_parser_feed(&o->parser, in);
    o->pending += before - in->len;
    if (*r == PARSE_COMPLETE)
        offline_answer(o, 200);
    else if (*r == PARSE_REFUSED)
        offline_answer(o, o->parser.status);
    else if (*r == PARSE_TOO_LARGE)
        offline_answer(o, 413);
}

static inline void offline_feed(struct offline *o, struct str piece)
{
    /* A copy of its own, so that a sanitizer sees a read past it. */
    char *copy = mem_resize(NULL, piece.len == 0 ? 1 : piece.len);
    struct str in = str_from(copy, piece.len);
    enum http_parse r = PARSE_HEAD;

    if (piece.len > 0)
        memcpy(copy, piece.data, piece.len);
    while (!o->over && (in.len > 0 || (o->in_request && r != PARSE_MORE)))
        offline_step(o, &in, &r);
    free(copy);
}

/* call.h - one call of the API on its way from request to reply.
 *
 * Made in the exchange's arena when the head has come; every handler ends in
 * exactly one of the call_reply functions, now or later, on any thread.
 */
#pragma once
#include <stdbool.h>

#include "api/route.h"
#include "base/digest.h"
#include "base/err.h"
#include "engine/change.h"
#include "engine/readers.h"
#include "features/access/key_use.h"
#include "features/access/rate.h"

struct api;
struct api_call;
struct db;
struct http_exchange;
struct key_entry;
struct session_user;
struct problems;
struct tenant_entry;

/* Work of a handler, mostly on another thread: fills *call->answer, or fails. Reads may be begun
 * anew, so all of it is filled each time. */
typedef int call_work_fn(struct api_call *call, struct db *db, struct error *err);

/* The end of a handler, back on the carrier's thread. */
typedef void call_end_fn(struct api_call *call);

/* What comes after a step on another thread, on that thread. `err` is NULL when it was done. */
typedef void call_then_fn(struct api_call *call, const struct error *err);

struct api_call {
    struct http_exchange *exchange;
    struct arena *arena;
    struct api *api;
    const struct route *route; /* NULL: none fits */
    struct route_values values;

    const struct key_entry *key; /* NULL: open route, a person, or the operator */
    struct session_user *user;   /* who is logged in; NULL: a key, the operator, or nobody */
    struct str cookie;           /* of that person's session; STR_NULL: none came */
    bool unknown_token;          /* well-formed token or cookie, but not (yet) known here */
    struct sha256 digest;        /* of that token or cookie */
    bool has_rate;
    struct rate_verdict rate;

    void *params, *query, *body;       /* filled as the route's shapes say */
    const struct tenant_entry *tenant; /* of the path's {slug}, once authorised */
    void *answer;                      /* of the route's answer shape */

    struct str set_cookie; /* the reply's Set-Cookie; STR_NULL: none */
    void *own;             /* the handler's own, between its steps */

    struct str audit_target; /* what a change was done to; STR_NULL: the path tells it */
    struct str audit_detail; /* a JSON object without secrets; STR_NULL: none */

    call_work_fn *work;
    call_then_fn *then;
    call_end_fn *end;
    call_end_fn *good;         /* of key_check() */
    struct error *failure;     /* instead of the end */
    struct problems *problems; /* what work found wrong with the query; NULL: nothing */
    union {
        struct reader_job read;
        struct key_first_use first_use;
        struct change change;
    };
};

/* The route's status and its answer. */
void call_reply_answer(struct api_call *call, const void *answer);

/* The same with its ETag, or 304 when the client has it already. */
void call_reply_tagged(struct api_call *call, const void *answer);

/* Does If-None-Match name this tag? Weak ones match too. */
bool call_knows_tag(const struct api_call *call, struct str tag);

/* 304 with the tag. */
void call_reply_unchanged(struct api_call *call, struct str tag);

/* A configuration under a tag of its own, and the required keys it lacks (STR_NULL: none). Takes
 * the body over. */
void call_reply_config(struct api_call *call, struct str tag, struct str missing, struct buf *body);

/* JSON text as it is. */
void call_reply_json(struct api_call *call, int status, struct str text);

/* A file of the portal, as call_reply_file() sends it. */
struct call_file {
    const char *type;
    struct str tag; /* STR_NULL: none */
    struct str bytes;
    void *bytes_take; /* heap memory that holds `bytes`, handed over; NULL: they are static */
    bool gzip;        /* bytes are compressed, as the client accepts */
    bool keep;        /* its name changes with its content: browsers may keep it */
};

/* The file with the headers of a page, or 304 when the client has it already. */
void call_reply_file(struct api_call *call, const struct call_file *file);

/* {"detail": sentence}. Adds WWW-Authenticate, Retry-After and the like as the status asks. */
void call_reply_error(struct api_call *call, int status, const char *fmt, ...) PRINTF(3, 4);

/* Begins a reply that comes in parts (http/stream.h), with the route's status. Any thread. */
void call_stream_begin(struct api_call *call, const char *content_type,
                       const struct http_header *headers, size_t n, enum http_stream_kind kind);

/* Not the client's fault: the sentence stays in our log, with the request's id. */
void call_log_failure(const struct api_call *call, const struct error *err);

/* 413 with the limit named; unit is "events" or "bytes". */
void call_reply_too_large(struct api_call *call, size_t limit, const char *unit);

void call_reply_problems(struct api_call *call, const struct problems *problems);

/* 401, telling apart "no token" and "bad token". */
void call_reply_unauthorized(struct api_call *call, bool had_token);

/* 405 with Allow. */
void call_reply_wrong_method(struct api_call *call, struct str allowed);

/* The status that belongs to a failure of the service; what is internal is logged, not told. */
void call_reply_failure(struct api_call *call, const struct error *err);

/* For the writer's thread, which has better to do than print replies: goes on with `end` on the
 * carrier's thread, or with the failure's reply there. `err` is borrowed. */
void call_resume(struct api_call *call, const struct error *err, call_end_fn *end);

/* Runs `work` on a reader (or as a committed change) and answers with call->answer, which must
 * have been set. */
void call_read(struct api_call *call, call_work_fn *work);
void call_change(struct api_call *call, call_work_fn *work);

/* The same for what is short, a bounded page or a look-up by key: tries it at once, on this thread,
 * and leaves it to a reader if it takes longer than a moment. The call may be over on return. */
void call_read_inline(struct api_call *call, call_work_fn *work);

/* Who calls, as the audit log names them; in the arena. */
struct str call_actor(const struct api_call *call);

/* For work that finds the query wrong only when it looks at what is stored, and then fails: the
 * answer is 422 with a value_error at the query's member. A null `value` was not given. */
void call_refuse_query(struct api_call *call, const char *name, struct str value,
                       const char *sentence);

/* The same for a change of this topic; then `then` instead of the answer, which must end the
 * call. */
void call_change_then(struct api_call *call, enum change_topic topic, call_work_fn *work,
                      call_then_fn *then);

/* Runs `work` on the thread that hashes passwords, then `then`, which must end the call or go on
 * with it. */
void call_hash(struct api_call *call, call_work_fn *work, call_then_fn *then);

/* Answers as call_read() and call_change() do. */
void call_finish(struct api_call *call, const struct error *err);

/* The address that the request came from, without its port; a trusted proxy's client. */
struct str call_origin(struct api_call *call);

/* Enters in the audit log, in the current transaction, that the caller did this to
 * call->audit_target. call_change() does it for routes that name an action. */
int call_audit(struct api_call *call, struct db *db, const char *action,
               struct error *err) MUST_CHECK;

/* call.h - one call of the API on its way from request to reply.
 *
 * Made in the exchange's arena when the head has come. Every call ends in exactly
 * one reply, now or later, on any thread: by call_reply(), or by one of the
 * functions that have "reply" in their name.
 *
 * What is wrong is reported in one way: a step or work fails with -1 and `err`, and
 * call_refuse() and its siblings note what to answer.
 */
#pragma once
#include <stdbool.h>

#include "api/answers.h"
#include "api/route.h"
#include "base/digest.h"
#include "base/err.h"
#include "engine/change.h"
#include "engine/readers.h"

struct api;
struct api_call;
struct db;
struct http_exchange;
struct key_entry;
struct session_user;
struct problems;
struct tenant_entry;

/* The end of a call's detour over another thread, back on the carrier's thread. */
typedef void call_end_fn(struct api_call *call);

/* What follows work on another thread, on that thread. `err` is NULL when it was done. */
typedef void call_then_fn(struct api_call *call, const struct error *err);

/* How much of its rate limit the caller has left. */
struct call_rate {
    int64_t limit, remaining; /* requests */
    int64_t reset_s;          /* also what the Retry-After of a 429 says */
};

/* The answer to a call that is refused. */
struct call_refusal {
    int status;
    struct error_answer body;
    struct http_header header; /* beside the common ones; a null name: none */
};

struct api_call {
    struct http_exchange *exchange;
    struct arena *arena;
    struct api *api;
    const struct route *route; /* NULL: none fits */
    struct route_values values;

    const struct key_entry *key; /* NULL: open route, a user, or the operator */
    struct session_user *user;   /* signed in; NULL: a key, the operator, or unknown */
    struct str cookie;           /* of that user's session; STR_NULL: none was sent */
    bool unknown_token;          /* well-formed token or cookie, but not (yet) known here */
    struct sha256 digest;        /* of that token or cookie */
    bool has_rate;
    struct call_rate rate;

    void *params, *query, *body;       /* filled as the route's shapes say */
    const struct tenant_entry *tenant; /* of the path's {slug}, or the key's, once authorized */
    int64_t tenant_id;                 /* of that tenant; 0: none */
    void *answer;                      /* of the route's answer shape, zeroed at first */

    struct str set_cookie; /* the reply's Set-Cookie; STR_NULL: none */
    void *own;             /* the handler's own, between its steps */

    struct str audit_target; /* what a change was done to; STR_NULL: the path */
    struct str audit_detail; /* a JSON object without secrets; STR_NULL: none */

    call_work_fn *work;
    call_then_fn *then;
    call_end_fn *end;
    call_step_fn *fill;           /* of call_submit() */
    struct error *failure;        /* instead of the end */
    struct call_refusal *refusal; /* beside an error: what to answer; NULL: by the error's code */
    struct problems *problems;    /* the same for a 422; NULL: nothing is wrong with the input */
    union {
        struct reader_job read;
        struct change change;
    };
};

/* Answers: with call->answer, its ETag if the route has one, and 304 when the client has it; or,
 * with an error, as it was refused, or else by the error's code. Internal errors are logged, not
 * shown. */
void call_reply(struct api_call *call, const struct error *err);

/* The caller is known at last, after exchange->waits: reads the body. On the carrier's thread. */
void call_admit(struct api_call *call);

/* Runs a step and answers its failure. */
void call_run_or_reply(struct api_call *call, call_step_fn *step);

/* Each notes on the call what to answer, and returns -1 for the step or work that fails by
 * it. A 429 and a 503 get Retry-After. */
int call_refuse(struct api_call *call, struct error *err, int status, const char *fmt, ...)
    PRINTF(4, 5);

/* 413 with the limit; unit is "events" or "bytes". */
int call_refuse_size(struct api_call *call, struct error *err, size_t limit, const char *unit);

/* 401: no token, or a bad one. */
int call_refuse_caller(struct api_call *call, struct error *err, bool had_token);

/* 405 with Allow. */
int call_refuse_method(struct api_call *call, struct error *err, struct str allowed);

/* 422 with a value_error at a member of the body. Its value is echoed unless it is STR_NULL:
 * secret, or no text. */
int call_refuse_body(struct api_call *call, struct error *err, const char *name, struct str value,
                     const char *sentence);

/* The same for the query; STR_NULL: the member was not given. */
int call_refuse_query(struct api_call *call, struct error *err, const char *name, struct str value,
                      const char *sentence);

/* 422 with what is wrong with the input. */
int call_refuse_input(struct api_call *call, struct error *err, struct problems *problems);

/* Does the row's read or change, and answers with it. */
int call_proceed(struct api_call *call, struct error *err) MUST_CHECK;

/* The same after a step on another thread. */
void call_proceed_or_reply(struct api_call *call, const struct error *err);

/* As call_proceed() for a read that is short, a bounded page or a look-up by key: tries it at once
 * on this thread, and leaves it to a reader if it takes longer than a moment. The call may be over
 * on return. */
int call_read_inline(struct api_call *call, struct error *err) MUST_CHECK;

/* Makes a change of this topic, then calls `then`, which must end the call. */
void call_change(struct api_call *call, enum change_topic topic, call_work_fn *work,
                 call_then_fn *then);

/* Runs `work` on the thread that hashes passwords, then `then`, which must end the call or hand it
 * on. */
void call_hash(struct api_call *call, call_work_fn *work, call_then_fn *then);

/* Submits a writer job from the call's own memory; its done() and owner are set here. Once it is
 * durable, on the carrier's thread, `fill` fills call->answer (NULL: it is filled already), and the
 * call is answered. */
int call_submit(struct api_call *call, struct writer_job *job, call_step_fn *fill,
                struct error *err) MUST_CHECK;

/* For threads that have better to do than print replies: goes on with `end` on the carrier's
 * thread, or answers the failure there. `err` is borrowed. */
void call_resume(struct api_call *call, const struct error *err, call_end_fn *end);

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

/* Begins a reply that comes in parts (http/stream.h), with the route's status. Any thread. */
void call_stream_begin(struct api_call *call, const char *content_type,
                       const struct http_header *headers, size_t n, enum http_stream_kind kind);

/* An internal error: the sentence stays in our log, with the request's id. */
void call_log_failure(const struct api_call *call, const struct error *err);

/* Enters in the audit log, in the current transaction, that the caller did this to
 * call->audit_target. Changes of routes that name an action do it by themselves. */
int call_audit(struct api_call *call, struct db *db, const char *action,
               struct error *err) MUST_CHECK;

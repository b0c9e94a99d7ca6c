/* call.h - one call of the API, from request to reply.
 *
 * Created in the exchange's arena when the head has arrived. Every call ends in
 * exactly one reply, now or later, on any thread: by call_reply(), or by one of
 * the functions with "reply" in their name.
 *
 * Failures are reported in one way: a step or work returns -1 with `err`, and
 * call_refuse() and its siblings set the answer.
 */
#pragma once
#include <stdbool.h>

#include "api/route.h"
#include "base/budget.h"
#include "base/digest.h"
#include "base/err.h"
#include "engine/change.h"
#include "engine/readers.h"

struct api;
struct api_call;
struct budget;
struct db;
struct http_exchange;
struct caller;
struct problems;
struct tenant_entry;

/* Continues a call on the carrier's thread after work on another thread. */
typedef void call_end_fn(struct api_call *call);

/* Called after work on another thread, on that thread. `err` is NULL on success. */
typedef void call_then_fn(struct api_call *call, const struct error *err);

/* How much of its rate limit the caller has left. */
struct call_rate {
    int64_t limit, remaining; /* requests */
    int64_t reset_s;          /* also the Retry-After of a 429 */
};

/* The answer to a call that is refused. */
struct call_refusal {
    int status;
    struct error_answer body;
    struct http_header header; /* in addition to the common ones; a null name: none */
};

struct api_call {
    struct http_exchange *exchange;
    struct arena *arena;
    struct api *api;
    const struct route *route; /* NULL: no route matches */
    struct route_values values;

    struct caller *caller; /* what the hooks know of who calls; never NULL */
    bool by_program;       /* a program calls, not a person: its changes are no administration */
    bool has_rate;
    struct call_rate rate;

    int64_t
        asked_us;    /* raw clock: since when the caller waits for the database, whatever the number
                      * of steps; moved on by what the body, or others than the database, took */
    int64_t body_us; /* raw clock: since when the body is read */

    void *params, *query, *body;       /* filled as the route's shapes say */
    const struct tenant_entry *tenant; /* of the path's {slug}, or the key's, once authorized */
    int64_t tenant_id;                 /* of that tenant; 0: none */
    struct budget *budget;             /* of that tenant; NULL: none */
    void *answer;                      /* of the route's answer shape, zeroed at first */

    struct str set_cookie; /* the reply's Set-Cookie; STR_NULL: none */
    void *own;             /* state of the handler between its steps */

    struct str audit_target; /* target of the change; STR_NULL: the path */
    bool audit_platform;     /* the entry belongs to the platform's log, not to the tenant's */
    struct str audit_detail; /* a JSON object without secrets; STR_NULL: none */

    call_work_fn *work;
    call_then_fn *then;
    call_end_fn *end;
    call_step_fn *fill;           /* of call_submit() */
    struct error *failure;        /* answered instead of calling `end` */
    struct call_refusal *refusal; /* beside an error: what to answer; NULL: by the error's code */
    struct problems *problems;    /* the same for a 422; NULL: nothing is wrong with the input */
    union {
        struct reader_job read;
        struct change change;
    };
};

/* Replies with call->answer, with an ETag if the route has one, and 304 when the client has that
 * version; or, with an error, as set by call_refuse(), else by the error's code. Internal errors
 * are logged, not shown. */
void call_reply(struct api_call *call, const struct error *err);

/* After exchange->waits, once the caller is known: reads the body. On the carrier's thread. */
void call_admit(struct api_call *call);

/* Runs a step, and replies if it fails. */
void call_run_or_reply(struct api_call *call, call_step_fn *step);

/* Each sets the answer and returns -1, for the step or work to return. A 429 and a 503 get
 * Retry-After. */
int call_refuse(struct api_call *call, struct error *err, int status, const char *fmt, ...)
    PRINTF(4, 5);

/* 503 with whose share of what is used up. */
int call_refuse_share(struct api_call *call, struct error *err, const struct budget *full,
                      enum budget_kind kind);

/* 413 with the limit; unit is "events" or "bytes". */
int call_refuse_size(struct api_call *call, struct error *err, size_t limit, const char *unit);

/* 401: no token, or a bad one. */
int call_refuse_caller(struct api_call *call, struct error *err, bool had_token);

/* 405 with Allow. */
int call_refuse_method(struct api_call *call, struct error *err, struct str allowed);

/* 422 with a value_error at a member of the body. Its value is echoed unless it is STR_NULL:
 * secret, or not text. */
int call_refuse_body(struct api_call *call, struct error *err, const char *name, struct str value,
                     const char *sentence);

/* The same for the query; STR_NULL: the member was not given. */
int call_refuse_query(struct api_call *call, struct error *err, const char *name, struct str value,
                      const char *sentence);

/* 422 with the problems of the input. */
int call_refuse_input(struct api_call *call, struct error *err, struct problems *problems);

/* Runs the route's read or change, and replies with its answer. */
int call_proceed(struct api_call *call, struct error *err) MUST_CHECK;

/* The same after a step on another thread. */
void call_proceed_or_reply(struct api_call *call, const struct error *err);

/* As call_proceed() for a short read, such as a bounded page or a lookup by key: tries it inline on
 * this thread, and submits it to a reader if it misses a short deadline. The call may have ended on
 * return. */
int call_read_inline(struct api_call *call, struct error *err) MUST_CHECK;

/* Submits a change of this topic, then calls `then`, which must end the call. */
void call_change(struct api_call *call, enum change_topic topic, call_work_fn *work,
                 call_then_fn *then);

/* Submits a read, then calls `then`, which must end the call. For an answer that is no shape; else
 * the route's row names the read. */
int call_read(struct api_call *call, call_work_fn *work, call_then_fn *then,
              struct error *err) MUST_CHECK;

/* Runs `work` on the thread that hashes passwords, then `then`, which must end the call or hand it
 * on. */
void call_hash(struct api_call *call, call_work_fn *work, call_then_fn *then);

/* The same, before all that call_hash() has queued. */
void call_hash_ahead(struct api_call *call, call_work_fn *work, call_then_fn *then);

/* Submits a report as a writer job from the call's own memory, unless disk space is low (503); its
 * done() and owner are set here. Once it is durable, on the carrier's thread, `fill` fills
 * call->answer (NULL: it is filled already), and the call is answered. */
int call_submit(struct api_call *call, struct writer_job *job, call_step_fn *fill,
                struct error *err) MUST_CHECK;

/* Continues with `end` on the carrier's thread, or replies with the failure there, so that other
 * threads do not write replies. `err` is borrowed. */
void call_resume(struct api_call *call, const struct error *err, call_end_fn *end);

/* Does If-None-Match name this tag? Weak ones match too. */
bool call_knows_tag(const struct api_call *call, struct str tag);

/* 304 with the tag. */
void call_reply_unchanged(struct api_call *call, struct str tag);

/* 204 with these headers. */
void call_reply_empty(struct api_call *call, const struct http_header *headers, size_t n);

/* 202 without a body. */
void call_reply_accepted(struct api_call *call);

/* Replies with a configuration, its ETag, and the missing required keys (STR_NULL: none). Takes
 * ownership of the body. */
void call_reply_config(struct api_call *call, struct str tag, struct str missing, struct buf *body);

/* Replies with text of another kind, with the route's status. Takes ownership of the body. */
void call_reply_text(struct api_call *call, const char *content_type, struct buf *body);

/* Replies with JSON text. */
void call_reply_json(struct api_call *call, int status, struct str text);

/* A file of the portal, as call_reply_file() sends it. */
struct call_file {
    const char *type;
    struct str tag; /* STR_NULL: none */
    struct str bytes;
    void *bytes_take; /* heap memory that holds `bytes`, whose ownership passes to the call; NULL:
                         static */
    bool gzip;        /* bytes are compressed, as the client accepts */
    bool keep;        /* its name changes with its content, so browsers may cache it */
};

/* The file with the headers of a page, or 304 when the client has it already. */
void call_reply_file(struct api_call *call, const struct call_file *file);

/* Begins a streamed reply (http/exchange.h), with the route's status. Any thread. */
void call_stream_begin(struct api_call *call, const char *content_type,
                       const struct http_header *headers, size_t n, enum http_stream_kind kind);

/* Logs an internal error with the request's id; the client does not see its text. */
void call_log_failure(const struct api_call *call, const struct error *err);

/* Adds an audit entry about the caller, the action and call->audit_target, in the current
 * transaction. Changes of routes with an `audit` action do so automatically. */
int call_audit(struct api_call *call, struct db *db, const char *action,
               struct error *err) MUST_CHECK;

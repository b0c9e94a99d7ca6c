/* call.c - the parts of a call that run on other threads. */
#include "api/call.h"

#include "api/api.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "features/access/registry.h"
#include "features/access/users/sessions.h"
#include "features/audit/audit.h"
#include "http/exchange.h"
#include "shape/rule.h"

enum { LOOK_FRESH_US = 2000 }; /* what came longer ago than this is read by a reader */

static void resumed(struct http_exchange *x)
{
    struct api_call *call = x->app;

    if (call->failure != NULL)
        call_reply_failure(call, call->failure);
    else
        call->end(call);
}

void call_resume(struct api_call *call, const struct error *err, call_end_fn *end)
{
    if (err != NULL) {
        call->failure = ARENA_NEW(call->arena, struct error);
        *call->failure = *err;
    }
    call->end = end;
    http_resume(call->exchange, resumed);
}

void call_refuse_query(struct api_call *call, const char *name, struct str value,
                       const char *sentence)
{
    call->problems = problems_new(call->arena, "query");
    rule_refuse_text(call->problems, call->arena, name, value, sentence);
}

void call_finish(struct api_call *call, const struct error *err)
{
    if (err != NULL && call->problems != NULL)
        call_reply_problems(call, call->problems);
    else if (err != NULL)
        call_reply_failure(call, err);
    else if (call->route->tagged)
        call_reply_tagged(call, call->answer);
    else
        call_reply_answer(call, call->answer);
}

static int run_read(struct reader_job *job, struct db *db, struct error *err)
{
    struct api_call *call = CONTAINER_OF(job, struct api_call, read);

    return call->work(call, db, err);
}

static void read_done(struct reader_job *job, const struct error *err)
{
    call_finish(CONTAINER_OF(job, struct api_call, read), err);
}

/* Whose share of the readers it takes; 0: nobody's. */
static int64_t tenant_of(const struct api_call *call)
{
    if (call->tenant != NULL)
        return call->tenant->id;
    return call->key == NULL ? 0 : call->key->tenant->id;
}

static void prepare_read(struct api_call *call, call_work_fn *work)
{
    call->work = work;
    call->read =
        (struct reader_job){ .tenant_id = tenant_of(call), .run = run_read, .done = read_done };
}

static void queue_read(struct api_call *call)
{
    struct error err = { 0 };

    if (engine_read(call->api->engine, &call->read, &err) != 0)
        call_reply_failure(call, &err);
}

void call_read(struct api_call *call, call_work_fn *work)
{
    prepare_read(call, work);
    queue_read(call);
}

/* One connection may have brought hundreds of requests at once. The loop has handled them for a
 * while when this one is old, and the next is to find it free. */
static bool may_hold_loop(const struct api_call *call)
{
    return clock_mono_us() - call->exchange->request.began_us < LOOK_FRESH_US;
}

void call_read_inline(struct api_call *call, call_work_fn *work)
{
    prepare_read(call, work);
    if (!may_hold_loop(call) || !engine_read_inline(call->api->engine, &call->read))
        queue_read(call);
}

struct str call_actor(const struct api_call *call)
{
    if (call->user != NULL)
        return arena_printf(call->arena, "person:%.*s", STR_ARG(call->user->email));
    if (call->key == NULL && call->exchange->request.peer == PEER_OPERATOR)
        return STR_LIT("operator");
    if (call->key == NULL)
        return STR_LIT("anonymous");
    return arena_printf(call->arena, "key:%.*s", STR_ARG(call->key->key_id));
}

int call_audit(struct api_call *call, struct db *db, const char *action, struct error *err)
{
    const struct http_request *request = &call->exchange->request;
    const struct audit_entry entry = {
        .tenant_id = call->tenant == NULL ? AUDIT_PLATFORM : call->tenant->id,
        .at = clock_wall_us(),
        .actor = call_actor(call),
        .action = str_of(action),
        .target = str_is_null(call->audit_target) ? request->path : call->audit_target,
        .origin = call_origin(call),
        .detail = call->audit_detail,
    };

    return audit_add(db, &entry, err);
}

static int run_change(struct change *change, struct db *db, struct error *err)
{
    struct api_call *call = CONTAINER_OF(change, struct api_call, change);

    if (call->work(call, db, err) != 0)
        return -1;
    return call->route->audit == NULL ? 0 : call_audit(call, db, call->route->audit, err);
}

static void change_done(struct change *change, const struct error *err)
{
    struct api_call *call = CONTAINER_OF(change, struct api_call, change);

    call->then(call, err);
}

void call_change_then(struct api_call *call, enum change_topic topic, call_work_fn *work,
                      call_then_fn *then)
{
    struct error err = { 0 };

    call->work = work;
    call->then = then;
    call->change = (struct change){ .topic = topic, .apply = run_change, .done = change_done };
    if (change_submit(call->api->engine, &call->change, &err) != 0)
        then(call, &err);
}

void call_change(struct api_call *call, call_work_fn *work)
{
    call_change_then(call, CHANGE_REGISTRY, work, call_finish);
}

static void hash_done(struct reader_job *job, const struct error *err)
{
    struct api_call *call = CONTAINER_OF(job, struct api_call, read);

    call->then(call, err);
}

void call_hash(struct api_call *call, call_work_fn *work, call_then_fn *then)
{
    struct error err = { 0 };

    call->work = work;
    call->then = then;
    call->read = (struct reader_job){ .run = run_read, .done = hash_done };
    if (engine_hash(call->api->engine, &call->read, &err) != 0)
        then(call, &err);
}

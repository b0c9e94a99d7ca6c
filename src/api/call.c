/* call.c - the parts of a call that run on other threads. */
#include "api/call.h"

#include "api/api.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "engine/space.h"
#include "engine/writer.h"
#include "http/exchange.h"

enum { INLINE_FRESH_US = 2000 }; /* older requests are left to a reader thread */

static void resumed(struct http_exchange *x)
{
    struct api_call *call = x->app;

    if (call->failure != NULL)
        call_reply(call, call->failure);
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

void call_run_or_reply(struct api_call *call, call_step_fn *step)
{
    struct error err = { 0 };

    if (step(call, &err) != 0)
        call_reply(call, &err);
}

/* Work may run again: clears the refusal of an earlier attempt. */
static int call_work_run(struct api_call *call, struct db *db, struct error *err)
{
    call->refusal = NULL;
    call->problems = NULL;
    return call->work(call, db, err);
}

/* Refuses a read whose reply would have to wait: its caller has not taken earlier ones. */
static int check_unread(struct api_call *call, struct error *err)
{
    const struct budget *full = budget_exhausted(call->exchange->charge.budget, BUDGET_REPLY_BYTES);

    return full == NULL ? 0 : call_refuse_share(call, err, full, BUDGET_REPLY_BYTES);
}

/* What waits for the thread that hashes passwords, or hashes, does not wait for the database. */
static int call_hash_run(struct reader_job *job, struct db *db, struct error *err)
{
    struct api_call *call = CONTAINER_OF(job, struct api_call, read);

    call->asked_us = job->asked_us;
    return call_work_run(call, db, err);
}

/* Replies to others that were queued before it may have used up the share meanwhile. */
static int call_answer_run(struct reader_job *job, struct db *db, struct error *err)
{
    struct api_call *call = CONTAINER_OF(job, struct api_call, read);

    return check_unread(call, err) != 0 ? -1 : call_work_run(call, db, err);
}

static void call_read_done(struct reader_job *job, const struct error *err)
{
    call_reply(CONTAINER_OF(job, struct api_call, read), err);
}

static int prepare_read(struct api_call *call, struct error *err)
{
    if (check_unread(call, err) != 0)
        return -1;
    call->work = call->route->read;
    call->read = (struct reader_job){ .asked_us = call->asked_us,
                                      .budget = call->budget,
                                      .tenant_id = call->tenant_id,
                                      .run = call_answer_run,
                                      .done = call_read_done };
    return 0;
}

static void call_then_done(struct reader_job *job, const struct error *err)
{
    struct api_call *call = CONTAINER_OF(job, struct api_call, read);

    call->asked_us = job->asked_us;
    call->then(call, err);
}

int call_read(struct api_call *call, call_work_fn *work, call_then_fn *then, struct error *err)
{
    if (prepare_read(call, err) != 0)
        return -1;
    call->work = work;
    call->then = then;
    call->read.done = call_then_done;
    return engine_read(call->api->engine, &call->read, err);
}

/* A connection may have sent hundreds of requests at once. If this one has waited, the loop has
 * been busy with them for a while and must serve others. */
static bool may_hold_loop(const struct api_call *call)
{
    return clock_mono_us() - call->exchange->request.began_us < INLINE_FRESH_US;
}

int call_read_inline(struct api_call *call, struct error *err)
{
    if (prepare_read(call, err) != 0)
        return -1;
    if (may_hold_loop(call) && engine_read_inline(call->api->engine, &call->read))
        return 0;
    return engine_read(call->api->engine, &call->read, err);
}

int call_audit(struct api_call *call, struct db *db, const char *action, struct error *err)
{
    return call->api->audit(call, db, action, err);
}

static int call_change_apply(struct change *change, struct db *db, struct error *err)
{
    struct api_call *call = CONTAINER_OF(change, struct api_call, change);

    if (call_work_run(call, db, err) != 0)
        return -1;
    return call->route->audit == NULL ? 0 : call_audit(call, db, call->route->audit, err);
}

static void call_change_done(struct change *change, const struct error *err)
{
    struct api_call *call = CONTAINER_OF(change, struct api_call, change);

    call->then(call, err);
}

void call_change(struct api_call *call, enum change_topic topic, call_work_fn *work,
                 call_then_fn *then)
{
    struct error err = { 0 };

    call->work = work;
    call->then = then;
    call->change = (struct change){ .topic = topic,
                                    .asked_us = call->asked_us,
                                    .budget = call->budget,
                                    .administrative = !call->by_program,
                                    .apply = call_change_apply,
                                    .done = call_change_done };
    if (change_submit(call->api->engine, &call->change, &err) != 0)
        then(call, &err);
}

int call_proceed(struct api_call *call, struct error *err)
{
    const struct route *route = call->route;

    if (route->change != NULL) {
        call_change(call, route->topic, route->change, call_reply);
        return 0;
    }
    if (prepare_read(call, err) != 0)
        return -1;
    return engine_read(call->api->engine, &call->read, err);
}

void call_proceed_or_reply(struct api_call *call, const struct error *err)
{
    if (err != NULL)
        call_reply(call, err);
    else
        call_run_or_reply(call, call_proceed);
}

static void hash(struct api_call *call, bool ahead, call_work_fn *work, call_then_fn *then)
{
    struct error err = { 0 };

    call->work = work;
    call->then = then;
    call->read = (struct reader_job){
        .asked_us = call->asked_us, .ahead = ahead, .run = call_hash_run, .done = call_then_done
    };
    if (engine_hash(call->api->engine, &call->read, &err) != 0)
        then(call, &err);
}

void call_hash(struct api_call *call, call_work_fn *work, call_then_fn *then)
{
    hash(call, false, work, then);
}

void call_hash_ahead(struct api_call *call, call_work_fn *work, call_then_fn *then)
{
    hash(call, true, work, then);
}

static void call_submit_end(struct api_call *call)
{
    struct error err = { 0 };

    call_reply(call, call->fill != NULL && call->fill(call, &err) != 0 ? &err : NULL);
}

static void call_submit_done(struct writer_job *job, const struct error *err)
{
    struct api_call *call = job->owner;

    if (err != NULL && err->code == ERR_FULL)
        space_note_full(engine_space(call->api->engine));
    call_resume(call, err, call_submit_end);
}

int call_submit(struct api_call *call, struct writer_job *job, call_step_fn *fill,
                struct error *err)
{
    if (space_is_low(engine_space(call->api->engine)))
        return call_refuse(call, err, 503,
                           "The service is low on disk space and stored nothing of this request; "
                           "retry later");
    call->fill = fill;
    job->done = call_submit_done;
    job->owner = call;
    job->asked_us = call->asked_us;
    job->budget = call->budget;
    return writer_submit(engine_writer(call->api->engine), job, err);
}

/* routes.c - webhooks and their deliveries, for a tenant's admins. */
#include "features/webhooks/routes.h"
#include "api/api.h"
#include "api/call.h"
#include "api/queries.h"
#include "engine/engine.h"
#include "features/access/registry.h"
#include "features/webhooks/courier.h"
#include "features/webhooks/shapes.h"
#include "features/webhooks/webhooks.h"
#include "http/exchange.h"
#include "shape/problems.h"

/* Every path but that of the list has the webhook's id as its second value. */
static struct webhooks_call hooks_of(struct api_call *call, struct db *db)
{
    return (struct webhooks_call){ .db = db,
                                   .context = engine_webhooks(call->api->engine),
                                   .tenant_id = call->tenant->id,
                                   .webhook_id =
                                       call->values.n > 1 ? call->values.values[1] : STR_NULL,
                                   .arena = call->arena };
}

static int list(struct api_call *call, struct db *db, struct error *err)
{
    const struct webhooks_call hooks = hooks_of(call, db);

    return webhooks_list(&hooks, call->answer, err);
}

static void get_webhooks(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct webhook_list);
    call_read(call, list);
}

static int add(struct api_call *call, struct db *db, struct error *err)
{
    const struct webhooks_call hooks = hooks_of(call, db);
    struct webhook *answer = call->answer;

    if (webhooks_add(&hooks, call->body, answer, err) != 0)
        return -1;
    call->audit_target = answer->webhook_id;
    return 0;
}

/* A 422 for a URL that cannot be used here. False when it has answered. */
static bool check_url(struct api_call *call, struct str url)
{
    static const struct problem_step at = { .name = STR_INIT("url") };
    const char *wrong = webhooks_check_url(engine_webhooks(call->api->engine), url);
    struct problems *problems;
    struct buf input;

    if (wrong == NULL)
        return true;
    problems = problems_new(call->arena, "body");
    buf_init(&input, PROBLEM_INPUT_MAX);
    buf_add_json(&input, url);
    problems_add_rule(problems, &at, 1, arena_copy(call->arena, buf_str(&input)), wrong);
    buf_done(&input);
    call_reply_problems(call, problems);
    return false;
}

static void post_webhook(struct api_call *call)
{
    if (!check_url(call, ((const struct webhook_create *)call->body)->url))
        return;
    call->answer = ARENA_NEW(call->arena, struct webhook);
    call_change(call, add);
}

static int set(struct api_call *call, struct db *db, struct error *err)
{
    const struct webhooks_call hooks = hooks_of(call, db);

    return webhooks_set(&hooks, call->body, call->answer, err);
}

static void patch_webhook(struct api_call *call)
{
    struct str url = ((const struct webhook_patch *)call->body)->url;

    if (!str_is_null(url) && !check_url(call, url))
        return;
    call->answer = ARENA_NEW(call->arena, struct webhook);
    call_change(call, set);
}

static int drop(struct api_call *call, struct db *db, struct error *err)
{
    const struct webhooks_call hooks = hooks_of(call, db);

    if (webhooks_remove(&hooks, err) != 0)
        return -1;
    return list(call, db, err);
}

static void delete_webhook(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct webhook_list);
    call_change(call, drop);
}

static int deliveries(struct api_call *call, struct db *db, struct error *err)
{
    const struct webhooks_call hooks = hooks_of(call, db);

    return webhooks_deliveries(&hooks, call->query, call->answer, err);
}

static void get_deliveries(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct delivery_list);
    call_read(call, deliveries);
}

static int retry(struct api_call *call, struct db *db, struct error *err)
{
    const struct deliveries_query newest = { .limit = 50, .cursor = STR_NULL, .state = -1 };
    const struct delivery_path *path = call->params;
    const struct webhooks_call hooks = hooks_of(call, db);

    if (webhooks_retry(&hooks, path->delivery_id, err) != 0)
        return -1;
    return webhooks_deliveries(&hooks, &newest, call->answer, err);
}

static void post_delivery_retry(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct delivery_list);
    call_change(call, retry);
}

/* A test under way. */
struct testing {
    struct courier_test test;
    struct api_call *call;
};

static void answer_test(struct api_call *call)
{
    call_reply_answer(call, call->answer);
}

/* The courier's thread. */
static void tested(struct courier_test *test, const struct attempt_end *end,
                   const struct error *err)
{
    struct api_call *call = CONTAINER_OF(test, struct testing, test)->call;
    struct webhook_tested *answer = call->answer;

    if (err == NULL)
        *answer = (struct webhook_tested){
            .delivered = end->delivered,
            .status = end->status,
            .ms = end->ms,
            .error = end->error == NULL ? STR_NULL : arena_copy(call->arena, str_of(end->error)),
        };
    call_resume(call, err, answer_test);
}

/* What is sent out of the house is written down first. */
static int note_test(struct api_call *call, struct db *db, struct error *err)
{
    const struct webhooks_call hooks = hooks_of(call, db);

    call->audit_target = hooks.webhook_id;
    return webhooks_find(&hooks, err);
}

static void start_test(struct api_call *call, const struct error *failure)
{
    const struct webhook_path *path = call->params;
    struct testing *testing;
    struct error err = { 0 };

    if (failure != NULL) {
        call_finish(call, failure);
        return;
    }
    testing = ARENA_NEW(call->arena, struct testing);
    call->answer = ARENA_NEW(call->arena, struct webhook_tested);
    *testing = (struct testing){
        .test = { .tenant_id = call->tenant->id, .webhook_id = path->webhook_id, .done = tested },
        .call = call
    };
    if (courier_submit(engine_courier(call->api->engine), &testing->test, &err) != 0)
        call_finish(call, &err);
}

static void post_webhook_test(struct api_call *call)
{
    call_change_then(call, CHANGE_NOTHING, note_test, start_test);
}

/* clang-format off */
const struct route webhook_routes[] = {
    { ROUTE(GET, "/api/v1/tenants/{slug}/webhooks", ADMIN, 200), .handler = get_webhooks, .params = &tenant_path_shape, .answer = &webhook_list_shape,
      .summary = "Webhooks of a tenant" },
    { ROUTE(POST, "/api/v1/tenants/{slug}/webhooks", ADMIN, 201), .handler = post_webhook, .params = &tenant_path_shape, .body = &webhook_create_shape, .answer = &webhook_shape, .audit = "webhook.add",
      .summary = "Make a webhook; its secret is shown this once" },
    { ROUTE(PATCH, "/api/v1/tenants/{slug}/webhooks/{webhook_id}", ADMIN, 200), .handler = patch_webhook, .params = &webhook_path_shape, .body = &webhook_patch_shape, .answer = &webhook_shape, .audit = "webhook.set",
      .summary = "Change a webhook, switch it on or off, or give it a new secret" },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}/webhooks/{webhook_id}", ADMIN, 200), .handler = delete_webhook, .params = &webhook_path_shape, .answer = &webhook_list_shape, .audit = "webhook.remove",
      .summary = "Remove a webhook and its deliveries" },
    { ROUTE(POST, "/api/v1/tenants/{slug}/webhooks/{webhook_id}/test", ADMIN, 200), .handler = post_webhook_test, .params = &webhook_path_shape, .answer = &webhook_tested_shape, .audit = "webhook.test",
      .summary = "Send a test message at once and tell what came of it" },
    { ROUTE(GET, "/api/v1/tenants/{slug}/webhooks/{webhook_id}/deliveries", ADMIN, 200), .handler = get_deliveries, .params = &webhook_path_shape, .query = &deliveries_query_shape, .answer = &delivery_list_shape,
      .summary = "What was sent to a webhook, newest first" },
    { ROUTE(POST, "/api/v1/tenants/{slug}/webhooks/{webhook_id}/deliveries/{delivery_id}/retry", ADMIN, 200), .handler = post_delivery_retry, .params = &delivery_path_shape, .answer = &delivery_list_shape, .audit = "delivery.retry",
      .summary = "Send it again at once" },
    { 0 },
};
/* clang-format on */

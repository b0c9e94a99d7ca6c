/* routes.c - webhooks and their deliveries, for a tenant's admins. */
#include "features/webhooks/routes.h"
#include "api/api.h"
#include "api/call.h"
#include "engine/engine.h"
#include "features/access/registry.h"
#include "features/access/shapes.h"
#include "features/webhooks/courier.h"
#include "features/webhooks/shapes.h"
#include "features/webhooks/webhooks.h"
#include "http/exchange.h"

/* Every path but that of the list has the webhook's id as its second value. */
static struct webhooks_call hooks_of(struct api_call *call, struct db *db)
{
    return (struct webhooks_call){
        .db = db,
        .context = webhooks_context(call->api->engine),
        .tenant_id = call->tenant_id,
        .tells_failed_runs = call->tenant != NULL && atomic_load(&call->tenant->run_failed),
        .webhook_id = call->values.n > 1 ? call->values.values[1] : STR_NULL,
        .arena = call->arena
    };
}

static int list_webhooks(struct api_call *call, struct db *db, struct error *err)
{
    const struct webhooks_call hooks = hooks_of(call, db);

    return webhooks_list(&hooks, call->answer, err);
}

static int add_webhook(struct api_call *call, struct db *db, struct error *err)
{
    const struct webhooks_call hooks = hooks_of(call, db);
    struct webhook *answer = call->answer;

    if (webhooks_add(&hooks, call->body, answer, err) != 0)
        return -1;
    call->audit_target = answer->webhook_id;
    return 0;
}

static int check_url(struct api_call *call, struct str url, struct error *err)
{
    const char *wrong = webhooks_check_url(webhooks_context(call->api->engine), url);

    return wrong == NULL ? 0 : call_refuse_body(call, err, "url", url, wrong);
}

static int check_new_webhook(struct api_call *call, struct error *err)
{
    if (check_url(call, ((const struct webhook_create *)call->body)->url, err) != 0)
        return -1;
    return call_proceed(call, err);
}

static int set_webhook(struct api_call *call, struct db *db, struct error *err)
{
    const struct webhooks_call hooks = hooks_of(call, db);

    return webhooks_set(&hooks, call->body, call->answer, err);
}

static int check_changed_webhook(struct api_call *call, struct error *err)
{
    struct str url = ((const struct webhook_patch *)call->body)->url;

    if (!str_is_null(url) && check_url(call, url, err) != 0)
        return -1;
    return call_proceed(call, err);
}

static int remove_webhook(struct api_call *call, struct db *db, struct error *err)
{
    const struct webhooks_call hooks = hooks_of(call, db);

    if (webhooks_remove(&hooks, err) != 0)
        return -1;
    webhooks_leave_out(&hooks, call->answer);
    return 0;
}

static void webhook_removed(struct api_call *call, const struct error *failed)
{
    if (failed == NULL)
        webhooks_forget_soon(call->api->engine);
    call_reply(call, failed);
}

static void remove_listed(struct api_call *call, const struct error *failed)
{
    if (failed != NULL)
        call_reply(call, failed);
    else
        call_change(call, CHANGE_NOTHING, remove_webhook, webhook_removed);
}

/* The list counts deliveries, which is work for a reader. It is read first: once the webhook is
 * removed, nothing can fail any more. */
static int begin_remove_webhook(struct api_call *call, struct error *err)
{
    return call_read(call, list_webhooks, remove_listed, err);
}

static int list_deliveries(struct api_call *call, struct db *db, struct error *err)
{
    const struct webhooks_call hooks = hooks_of(call, db);

    return webhooks_deliveries(&hooks, call->query, call->answer, err);
}

static int retry_delivery(struct api_call *call, struct db *db, struct error *err)
{
    const struct deliveries_query newest = { .limit = 50, .cursor = STR_NULL, .state = -1 };
    const struct delivery_path *path = call->params;
    const struct webhooks_call hooks = hooks_of(call, db);

    if (webhooks_retry(&hooks, path->delivery_id, err) != 0)
        return -1;
    return webhooks_deliveries(&hooks, &newest, call->answer, err);
}

/* A test that is being sent. */
struct testing {
    struct courier_test test;
    struct api_call *call;
};

static void reply_test(struct api_call *call)
{
    call_reply(call, NULL);
}

/* The courier's thread. */
static void webhook_tested(struct courier_test *test, const struct attempt_end *end,
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
    call_resume(call, err, reply_test);
}

/* The audit entry is durable before anything is sent. */
static int note_webhook_test(struct api_call *call, struct db *db, struct error *err)
{
    const struct webhooks_call hooks = hooks_of(call, db);

    call->audit_target = hooks.webhook_id;
    return webhooks_find(&hooks, err);
}

static void start_webhook_test(struct api_call *call, const struct error *failure)
{
    const struct webhook_path *path = call->params;
    struct testing *testing;
    struct courier *courier;
    struct error err = { 0 };

    if (failure != NULL) {
        call_reply(call, failure);
        return;
    }
    testing = ARENA_NEW(call->arena, struct testing);
    *testing = (struct testing){ .test = { .tenant_id = call->tenant_id,
                                           .webhook_id = path->webhook_id,
                                           .done = webhook_tested },
                                 .call = call };
    courier = webhooks_courier(call->api->engine, &err);
    if (courier == NULL || courier_submit(courier, &testing->test, &err) != 0)
        call_reply(call, &err);
}

static int begin_webhook_test(struct api_call *call, struct error *err)
{
    (void)err;
    call_change(call, CHANGE_NOTHING, note_webhook_test, start_webhook_test);
    return 0;
}

/* clang-format off */
const struct route webhook_routes[] = {
    { ROUTE(GET, "/api/v1/tenants/{slug}/webhooks", ADMIN, 200), .read = list_webhooks, .params = &tenant_path_shape, .answer = &webhook_list_shape,
      .id = "list_webhooks", .summary = "List a workspace's webhooks",
      .description = "At most 100, without their secrets." },
    { ROUTE(POST, "/api/v1/tenants/{slug}/webhooks", ADMIN, 201), .handler = check_new_webhook, .change = add_webhook, .topic = CHANGE_NOTHING, .params = &tenant_path_shape, .body = &webhook_create_shape, .answer = &webhook_shape, .audit = "webhook.add",
      .id = "create_webhook", .summary = "Create a webhook",
      .description = "The answer holds the signing secret, which is shown only this once. The URL must be https and lead to a public address." },
    { ROUTE(PATCH, "/api/v1/tenants/{slug}/webhooks/{webhook_id}", ADMIN, 200), .handler = check_changed_webhook, .change = set_webhook, .topic = CHANGE_NOTHING, .params = &webhook_path_shape, .body = &webhook_patch_shape, .answer = &webhook_shape, .audit = "webhook.set",
      .id = "update_webhook", .summary = "Change a webhook",
      .description = "Disabling it cancels pending deliveries. A new secret signs beside the old one for a day, unless it is rotated again." },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}/webhooks/{webhook_id}", ADMIN, 200), .handler = begin_remove_webhook, .change = remove_webhook, .topic = CHANGE_NOTHING, .params = &webhook_path_shape, .answer = &webhook_list_shape, .audit = "webhook.remove",
      .id = "delete_webhook", .summary = "Delete a webhook",
      .description = "Its deliveries are deleted too." },
    { ROUTE(POST, "/api/v1/tenants/{slug}/webhooks/{webhook_id}/test", ADMIN, 200), .handler = begin_webhook_test, .params = &webhook_path_shape, .answer = &webhook_tested_shape, .audit = "webhook.test",
      .id = "test_webhook", .summary = "Send a test message",
      .description = "Sent at once and not listed among the deliveries; the answer says how it ended." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/webhooks/{webhook_id}/deliveries", ADMIN, 200), .read = list_deliveries, .params = &webhook_path_shape, .query = &deliveries_query_shape, .answer = &delivery_list_shape,
      .id = "list_deliveries", .summary = "List deliveries of a webhook, newest first",
      .description = "A failed delivery is tried ten times in about three days, then it is `dead`. The newest 1,000 finished deliveries of each webhook are kept, for 30 days." },
    { ROUTE(POST, "/api/v1/tenants/{slug}/webhooks/{webhook_id}/deliveries/{delivery_id}/retry", ADMIN, 200), .change = retry_delivery, .topic = CHANGE_NOTHING, .params = &delivery_path_shape, .answer = &delivery_list_shape, .audit = "delivery.retry",
      .id = "retry_delivery", .summary = "Retry a delivery",
      .description = "Queues it again at once with the same message id, with all its attempts." },
    { 0 },
};
/* clang-format on */

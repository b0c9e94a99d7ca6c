/* routes.c - webhooks and their deliveries, for a tenant's admins. */
#include "api/api.h"
#include "api/call.h"
#include "base/clock.h"
#include "base/digest.h"
#include "features/access/registry.h"
#include "features/access/shapes.h"
#include "features/vault/vault.h"
#include "features/webhooks/courier.h"
#include "features/webhooks/formats.h"
#include "features/webhooks/shapes.h"
#include "features/webhooks/store.h"
#include "features/webhooks/webhooks.h"

enum { WEBHOOKS_MAX = 100, OLD_SECRET_S = 86400, SEALED_MAX = 4096 };

/* The API's list as the text that is stored. */
static struct str join_types(const struct list *types, struct arena *arena)
{
    const struct str *items = types->items;
    struct str text = STR_LIT("");

    for (size_t i = 0; i < types->n; i++)
        text =
            arena_printf(arena, "%.*s%s%.*s", STR_ARG(text), i == 0 ? "" : ",", STR_ARG(items[i]));
    return text;
}

/* One e-mail address, without characters that end a header or add a second address. */
static const char *check_mail(struct str url)
{
    static const struct str scheme = STR_INIT("mailto:");
    struct str address = str_from(url.data + scheme.len, url.len - scheme.len), host = address;
    struct str name = str_split(&host, '@');

    if (name.len == 0 || str_is_null(host) || host.len == 0 || address.len > 254)
        return "mailto: must be followed by one e-mail address";
    for (size_t i = 0; i < address.len; i++) {
        unsigned char c = (unsigned char)address.data[i];

        if (c <= ' ' || c >= 0x7f || strchr("<>,;:\\\"()[]?&%", c) != NULL)
            return "mailto: must be followed by one e-mail address in plain ASCII";
    }
    return memchr(host.data, '@', host.len) == NULL
               ? NULL
               : "mailto: must be followed by one e-mail address";
}

static bool is_mail(struct str url)
{
    return str_starts(url, STR_LIT("mailto:"));
}

static int check_url(struct api_call *call, struct str url, struct error *err)
{
    const struct target_rules *rules = &webhooks_context(call->api->engine)->rules;
    const char *wrong = is_mail(url) ? check_mail(url) : target_check_url(url, rules);

    return wrong == NULL ? 0 : call_refuse_body(call, err, "url", url, wrong);
}

static int check_new_webhook(struct api_call *call, struct error *err)
{
    if (check_url(call, ((const struct webhook_create *)call->body)->url, err) != 0)
        return -1;
    return call_proceed(call, err);
}

static int check_changed_webhook(struct api_call *call, struct error *err)
{
    struct str url = ((const struct webhook_patch *)call->body)->url;

    if (!str_is_null(url) && check_url(call, url, err) != 0)
        return -1;
    return call_proceed(call, err);
}

/* A new secret: in the clear for the answer, sealed in the row. */
static int make_secret(struct api_call *call, struct db *db, struct webhook_row *row,
                       struct str *ret_secret, struct error *err)
{
    struct vault *vault = webhooks_context(call->api->engine)->vault;
    const struct vault_label label = { WEBHOOK_KIND, row->tenant_id, row->webhook_id, 1 };
    char secret[WEBHOOK_SECRET_LEN + 1];
    BUF_SCOPED(sealed, SEALED_MAX);
    int r;

    webhook_secret_make(secret);
    r = vault_seal(vault, db, &label, str_from(secret, WEBHOOK_SECRET_LEN), &sealed, err);
    if (r == 0) {
        row->secret = arena_copy(call->arena, buf_str(&sealed));
        *ret_secret = arena_copy(call->arena, str_from(secret, WEBHOOK_SECRET_LEN));
    }
    return r;
}

/* Does the list name a type of which there are messages only with the rule run_failed? */
static bool names_failed_runs(const struct list *types)
{
    const struct str *items = types->items;

    for (size_t i = 0; i < types->n; i++)
        if (str_eq_c(items[i], "run.failed") || str_eq_c(items[i], "agent.failing") ||
            str_eq_c(items[i], "agent.healthy"))
            return true;
    return false;
}

static int add_webhook(struct api_call *call, struct db *db, struct error *err)
{
    const struct webhook_create *create = call->body;
    struct webhook *ret = call->answer;
    struct webhook_row row = { .tenant_id = call->tenant_id,
                               .url = create->url,
                               .format = create->format,
                               .label = create->label,
                               .enabled = true,
                               .created_at = clock_wall_us(),
                               .old_until = TIME_NULL };
    struct str secret = STR_NULL;
    struct list others;

    if (webhook_store_list(db, call->tenant_id, call->arena, &others, err) != 0)
        return -1;
    if (others.n >= WEBHOOKS_MAX)
        return err_set(err, ERR_CONFLICT, "There are %zu webhooks already, which is the limit",
                       others.n);
    row.webhook_id = digest_random_id("whk_", call->arena);
    row.types = join_types(&create->types, call->arena);
    if (make_secret(call, db, &row, &secret, err) != 0 || webhook_store_add(db, &row, err) != 0 ||
        webhook_store_answer(db, row.tenant_id, row.webhook_id, call->arena, ret, err) != 0)
        return -1;
    ret->secret = secret;
    call->audit_target = ret->webhook_id;
    if (is_mail(row.url) && !webhooks_context(call->api->engine)->sends_mail)
        ret->warning = STR_LIT("No e-mail can be sent: set smtp_url and smtp_from");
    else if (names_failed_runs(&create->types) &&
             (call->tenant == NULL || !atomic_load(&call->tenant->run_failed)))
        ret->warning = STR_LIT("Failed runs are not told: set the alert rule run_failed");
    return 0;
}

/* Every path but that of the list has the webhook's id as its second value. */
static struct str webhook_id_of(const struct api_call *call)
{
    return call->values.values[1];
}

static int read_webhook(const struct api_call *call, struct db *db, struct webhook_row *ret,
                        struct error *err)
{
    return webhook_store_get(db, call->tenant_id, webhook_id_of(call), call->arena, ret, err);
}

/* Changes the fields set in the patch. */
static int set_webhook(struct api_call *call, struct db *db, struct error *err)
{
    const struct webhook_patch *patch = call->body;
    struct webhook *ret = call->answer;
    struct str secret = STR_NULL;
    struct webhook_row row;
    const char *wrong;

    if (read_webhook(call, db, &row, err) != 0)
        return -1;
    if (!str_is_null(patch->url)) {
        if (is_mail(patch->url) != is_mail(row.url))
            return err_set(err, ERR_CONFLICT,
                           "A webhook cannot change between URL and e-mail; create another one");
        wrong = webhook_check_form(row.format, patch->url);
        if (wrong != NULL)
            return err_set(err, ERR_CONFLICT, "The URL does not suit the format: %s", wrong);
        row.url = patch->url;
    }
    if (!str_is_null(patch->label))
        row.label = patch->label;
    if (patch->types.items != NULL)
        row.types = join_types(&patch->types, call->arena);
    if (patch->rotate_secret) {
        row.old_secret = row.secret.len > 0 ? row.secret : STR_NULL; /* none after a reset */
        row.old_until = clock_wall_us() + (int64_t)OLD_SECRET_S * USEC_PER_SEC;
        if (make_secret(call, db, &row, &secret, err) != 0)
            return -1;
    }
    if (patch->enabled.has)
        row.enabled = patch->enabled.value;
    if (row.enabled && row.secret.len == 0 && row.format == WEBHOOK_STANDARD)
        return err_set(err, ERR_CONFLICT,
                       "The webhook's secret was lost with the master key: rotate it first");
    if (webhook_store_set(db, &row, err) != 0 ||
        (!row.enabled &&
         webhook_store_disable(db, call->tenant_id, webhook_id_of(call), err) != 0) ||
        webhook_store_answer(db, row.tenant_id, row.webhook_id, call->arena, ret, err) != 0)
        return -1;
    ret->secret = secret;
    return 0;
}

static int list_webhooks(struct api_call *call, struct db *db, struct error *err)
{
    struct listing *ret = call->answer;

    return webhook_store_answers(db, call->tenant_id, call->arena, &ret->list, err);
}

/* Takes the webhook out of the answer, which was listed before it was removed. */
static void leave_out(struct api_call *call)
{
    struct listing *answer = call->answer;
    struct webhook *all = answer->list.items;
    size_t n = 0;

    for (size_t i = 0; i < answer->list.n; i++)
        if (!str_eq(all[i].webhook_id, webhook_id_of(call)))
            all[n++] = all[i];
    answer->list.n = n;
}

/* Its deliveries go too, those that wait as well: the oldest now, the others with
 * webhooks_forget_soon(). */
static int remove_webhook(struct api_call *call, struct db *db, struct error *err)
{
    const struct delivery_trim all = { call->tenant_id, webhook_id_of(call), STR_NULL };
    bool more;

    if (webhook_store_mark_removed(db, call->tenant_id, webhook_id_of(call), err) != 0 ||
        delivery_store_trim(db, &all, &more, err) != 0)
        return -1;
    if (!more && webhook_store_delete(db, call->tenant_id, all.webhook_id, err) != 0)
        return -1;
    leave_out(call);
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

static int show_deliveries(struct api_call *call, struct db *db,
                           const struct deliveries_query *query, struct error *err)
{
    struct listing *ret = call->answer;
    const struct delivery_filter filter = { .tenant_id = call->tenant_id,
                                            .webhook_id = webhook_id_of(call),
                                            .before = query->cursor,
                                            .state = query->state,
                                            .limit = query->limit + 1 };
    struct webhook_row webhook;
    struct list found;

    if (read_webhook(call, db, &webhook, err) != 0 ||
        delivery_store_list(db, &filter, call->arena, &found, err) != 0)
        return -1;
    *ret = (struct listing){ .list = found, .next = STR_NULL };
    if (found.n > (size_t)query->limit) {
        ret->list.n = (size_t)query->limit;
        ret->next = ((const struct delivery *)found.items)[ret->list.n - 1].delivery_id;
    }
    return 0;
}

static int list_deliveries(struct api_call *call, struct db *db, struct error *err)
{
    return show_deliveries(call, db, call->query, err);
}

/* The delivery is due at once. */
static int retry_delivery(struct api_call *call, struct db *db, struct error *err)
{
    const struct deliveries_query newest = { .limit = 50, .cursor = STR_NULL, .state = -1 };
    const struct delivery_path *path = call->params;
    const struct delivery_filter which = { .tenant_id = call->tenant_id,
                                           .webhook_id = webhook_id_of(call) };
    struct webhook_row webhook;

    if (read_webhook(call, db, &webhook, err) != 0)
        return -1;
    if (!webhook.enabled)
        return err_set(err, ERR_CONFLICT, "The webhook is disabled; enable it first");
    if (delivery_store_retry(db, &which, path->delivery_id, clock_wall_us(), err) != 0)
        return -1;
    return show_deliveries(call, db, &newest, err);
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
    struct webhook_row row;

    call->audit_target = webhook_id_of(call);
    return read_webhook(call, db, &row, err);
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

/* webhooks.c - converts webhooks between API shapes and rows. */
#include "features/webhooks/webhooks.h"

#include "base/clock.h"
#include "base/digest.h"
#include "features/vault/vault.h"
#include "features/webhooks/body.h"
#include "features/webhooks/deliveries_store.h"
#include "features/webhooks/shapes.h"
#include "features/webhooks/store.h"

enum { WEBHOOKS_MAX = 100, ID_DIGITS = 16, OLD_SECRET_S = 86400, SEALED_MAX = 4096 };

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

const char *webhooks_check_url(const struct webhooks_context *context, struct str url)
{
    return is_mail(url) ? check_mail(url) : target_check_url(url, &context->rules);
}

/* A new secret: in the clear for the answer, sealed in the row. */
static int make_secret(const struct webhooks_call *call, struct webhook_row *row,
                       struct str *ret_secret, struct error *err)
{
    const struct vault_label label = { WEBHOOK_KIND, row->tenant_id, row->webhook_id, 1 };
    char secret[WEBHOOK_SECRET_LEN + 1];
    BUF_SCOPED(sealed, SEALED_MAX);
    int r;

    webhook_secret_make(secret);
    r = vault_seal(call->context->vault, call->db, &label, str_from(secret, WEBHOOK_SECRET_LEN),
                   &sealed, err);
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

int webhooks_add(const struct webhooks_call *call, const struct webhook_create *create,
                 struct webhook *ret, struct error *err)
{
    struct webhook_row row = { .tenant_id = call->tenant_id,
                               .url = create->url,
                               .format = create->format,
                               .label = create->label,
                               .enabled = true,
                               .created_at = clock_wall_us(),
                               .old_until = TIME_NULL };
    struct str secret = STR_NULL;
    char digits[ID_DIGITS];
    struct list others;

    if (store_webhooks(call->db, call->tenant_id, call->arena, &others, err) != 0)
        return -1;
    if (others.n >= WEBHOOKS_MAX)
        return err_set(err, ERR_CONFLICT, "There are %zu webhooks already, which is the limit",
                       others.n);
    digest_random_base62(digits, sizeof(digits));
    row.webhook_id = arena_printf(call->arena, "whk_%.*s", ID_DIGITS, digits);
    row.types = join_types(&create->types, call->arena);
    if (make_secret(call, &row, &secret, err) != 0 || store_webhook_add(call->db, &row, err) != 0 ||
        store_webhook_answer(call->db, row.tenant_id, row.webhook_id, call->arena, ret, err) != 0)
        return -1;
    ret->secret = secret;
    if (is_mail(row.url) && !call->context->sends_mail)
        ret->warning = STR_LIT("No e-mail can be sent: set smtp_url and smtp_from");
    else if (names_failed_runs(&create->types) && !call->tells_failed_runs)
        ret->warning = STR_LIT("Failed runs are not told yet: set the alert rule run_failed");
    return 0;
}

static int read_webhook(const struct webhooks_call *call, struct webhook_row *ret,
                        struct error *err)
{
    return store_webhook(call->db, call->tenant_id, call->webhook_id, call->arena, ret, err);
}

int webhooks_find(const struct webhooks_call *call, struct error *err)
{
    struct webhook_row row;

    return read_webhook(call, &row, err);
}

int webhooks_set(const struct webhooks_call *call, const struct webhook_patch *patch,
                 struct webhook *ret, struct error *err)
{
    struct str secret = STR_NULL;
    struct webhook_row row;
    const char *wrong;

    if (read_webhook(call, &row, err) != 0)
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
        row.old_secret = row.secret;
        row.old_until = clock_wall_us() + (int64_t)OLD_SECRET_S * USEC_PER_SEC;
        if (make_secret(call, &row, &secret, err) != 0)
            return -1;
    }
    if (patch->enabled.has)
        row.enabled = patch->enabled.value;
    if (store_webhook_set(call->db, &row, err) != 0 ||
        (!row.enabled &&
         store_webhook_disable(call->db, call->tenant_id, call->webhook_id, err) != 0) ||
        store_webhook_answer(call->db, row.tenant_id, row.webhook_id, call->arena, ret, err) != 0)
        return -1;
    ret->secret = secret;
    return 0;
}

int webhooks_list(const struct webhooks_call *call, struct webhook_list *ret, struct error *err)
{
    return store_webhook_answers(call->db, call->tenant_id, call->arena, &ret->webhooks, err);
}

int webhooks_remove(const struct webhooks_call *call, struct error *err)
{
    const struct delivery_trim all = { call->tenant_id, call->webhook_id, STR_NULL };
    bool more;

    if (store_webhook_mark_removed(call->db, call->tenant_id, call->webhook_id, err) != 0 ||
        store_deliveries_trim(call->db, &all, &more, err) != 0)
        return -1;
    return more ? 0 : store_webhook_delete(call->db, call->tenant_id, call->webhook_id, err);
}

void webhooks_leave_out(const struct webhooks_call *call, struct webhook_list *list)
{
    struct webhook *all = list->webhooks.items;
    size_t n = 0;

    for (size_t i = 0; i < list->webhooks.n; i++)
        if (!str_eq(all[i].webhook_id, call->webhook_id))
            all[n++] = all[i];
    list->webhooks.n = n;
}

int webhooks_deliveries(const struct webhooks_call *call, const struct deliveries_query *query,
                        struct delivery_list *ret, struct error *err)
{
    const struct delivery_filter filter = { .tenant_id = call->tenant_id,
                                            .webhook_id = call->webhook_id,
                                            .before = query->cursor,
                                            .state = query->state,
                                            .limit = query->limit + 1 };
    struct webhook_row webhook;
    struct list found;

    if (read_webhook(call, &webhook, err) != 0 ||
        store_deliveries(call->db, &filter, call->arena, &found, err) != 0)
        return -1;
    *ret = (struct delivery_list){ .deliveries = found, .next = STR_NULL };
    if (found.n > (size_t)query->limit) {
        ret->deliveries.n = (size_t)query->limit;
        ret->next = ((const struct delivery *)found.items)[ret->deliveries.n - 1].delivery_id;
    }
    return 0;
}

int webhooks_retry(const struct webhooks_call *call, struct str delivery_id, struct error *err)
{
    const struct delivery_filter which = { .tenant_id = call->tenant_id,
                                           .webhook_id = call->webhook_id };
    struct webhook_row webhook;

    if (read_webhook(call, &webhook, err) != 0)
        return -1;
    if (!webhook.enabled)
        return err_set(err, ERR_CONFLICT, "The webhook is disabled; enable it first");
    return store_delivery_retry(call->db, &which, delivery_id, clock_wall_us(), err);
}

/* shapes.c - the shapes of webhooks and deliveries. */
#include "features/webhooks/shapes.h"

#include <string.h>

#include "shape/table.h"
#include "shape/timerange.h"

enum { TYPES_MAX = 20, LABEL_MAX = 256, URL_MAX = 2048, ROUTING_KEY_LEN = 32 };

const char *const webhook_format_names[] = { "standard", "slack",     "email",        "teams",
                                             "discord",  "pagerduty", "alertmanager", NULL };
const char *const delivery_state_names[] = { "waiting", "delivered", "dead", NULL };
const char *const message_types[] = {
    "agent.silent",      "agent.recovered",       "run.failed",
    "run.stuck",         "run.recovered",         "kpi.crossed",
    "kpi.recovered",     "budget.exceeded",       "budget.recovered",
    "budget.forecast",   "budget.on_track",       "agent.failing",
    "agent.healthy",     "failure_rate.exceeded", "failure_rate.recovered",
    "duration.exceeded", "duration.recovered",    NULL
};

static void check_types(const struct list *types, struct arena *arena, struct problems *problems)
{
    const struct str *items = types->items;

    for (size_t i = 0; i < types->n; i++)
        if (!str_is_one_of(items[i], message_types))
            rule_refuse_text(problems, arena, "types", items[i],
                             "Should be known message types, or an empty list");
}

/* What webhooks_check_url() says of the rest depends on settings. */
#define URL_PATTERN "^([Hh][Tt][Tt][Pp][Ss]?://|mailto:)[!-~]+$"

/* The length of the URL's scheme; 0: one that cannot be sent to. */
static size_t scheme_len(struct str url)
{
    static const struct str schemes[] = { STR_INIT("https://"), STR_INIT("http://") };
    static const struct str mail = STR_INIT("mailto:");

    for (size_t i = 0; i < COUNT_OF(schemes); i++)
        if (url.len >= schemes[i].len &&
            str_eq_nocase(str_from(url.data, schemes[i].len), schemes[i]))
            return schemes[i].len;
    return str_starts(url, mail) ? mail.len : 0;
}

static const char *check_url(struct str url)
{
    size_t scheme = scheme_len(url);

    if (scheme == 0 || scheme == url.len)
        return "Should begin with https:// and a host, or for e-mail with mailto: and an address";
    for (size_t i = 0; i < url.len; i++)
        if ((unsigned char)url.data[i] <= ' ' || (unsigned char)url.data[i] >= 0x7f)
            return "Should be plain ASCII without spaces";
    return NULL;
}

struct str webhook_url_plain(struct str url)
{
    return str_split(&url, '?');
}

struct str webhook_routing_key(struct str url)
{
    static const struct str name = STR_INIT("routing_key=");

    (void)str_split(&url, '?');
    if (str_is_null(url) || !str_starts(url, name) || url.len != name.len + ROUTING_KEY_LEN)
        return STR_NULL;
    url = str_from(url.data + name.len, ROUTING_KEY_LEN);
    for (size_t i = 0; i < url.len; i++) {
        char c = url.data[i];

        if (!((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')))
            return STR_NULL;
    }
    return url;
}

const char *webhook_check_form(int format, struct str url)
{
    if (str_starts(url, STR_LIT("mailto:")) != (format == WEBHOOK_EMAIL))
        return "Should begin with mailto: for the format email, and only for that format";
    if (format == WEBHOOK_PAGERDUTY && str_is_null(webhook_routing_key(url)))
        return "Should end in ?routing_key= and the 32 letters and digits of the integration key "
               "for the format pagerduty";
    return NULL;
}

static void check_create(void *value, struct arena *arena, struct problems *problems)
{
    const struct webhook_create *w = value;
    const char *sentence = check_url(w->url);

    if (sentence == NULL)
        sentence = webhook_check_form(w->format, w->url);
    check_types(&w->types, arena, problems);
    if (sentence != NULL)
        rule_refuse_text(problems, arena, "url", w->url, sentence);
}

static void check_patch(void *value, struct arena *arena, struct problems *problems)
{
    const struct webhook_patch *w = value;
    const char *sentence = str_is_null(w->url) ? NULL : check_url(w->url);

    check_types(&w->types, arena, problems);
    if (sentence != NULL)
        rule_refuse_text(problems, arena, "url", w->url, sentence);
}

/* clang-format off */
SHAPE(webhook_create, "WebhookCreate", (.doc = "A webhook to create.", .rules = check_create,
      .example = EXAMPLE({"url": "https://hooks.example.com/muster", "format": "standard", "types": ["run.failed"], "label": "On call"})),
    STR(url,        .max = URL_MAX,   .pattern = URL_PATTERN, .flags = F_REQUIRED, .doc = "https://… or, for e-mail, mailto:…"),
    ENUM(format,                      .absent = "\"standard\"", .choices = webhook_format_names, .doc = "standard: signed as Standard Webhooks; slack: blocks; email: by SMTP; teams: an adaptive card; discord: an embed; pagerduty: Events API v2, with the URL https://events.pagerduty.com/v2/enqueue?routing_key=…; alertmanager: its API v2, with the URL …/api/v2/alerts."),
    LIST_STR(types, .max = TYPES_MAX, .choices = message_types, .absent = "[]", .doc = "Message types to send. Empty: all but agent.failing and agent.healthy, since run.failed tells of each run."),
    STR(label,      .max = LABEL_MAX, .absent = "\"\"", .doc = "What the webhook is for."));

SHAPE(webhook_patch, "WebhookPatch", (.doc = "Changes to a webhook. Omitted fields keep their values.", .rules = check_patch,
      .example = EXAMPLE({"label": "On call", "enabled": true})),
    STR(url,        .max = URL_MAX,   .pattern = URL_PATTERN, .flags = F_NULL, .doc = "Where messages are sent: https://… or, for e-mail, mailto:…"),
    LIST_STR(types, .max = TYPES_MAX, .choices = message_types, .flags = F_NULL, .doc = "Message types to send. Empty: all but agent.failing and agent.healthy, since run.failed tells of each run."),
    STR(label,      .max = LABEL_MAX, .flags = F_NULL, .doc = "What the webhook is for."),
    OPT_BOOL(enabled,                 .flags = F_NULL, .doc = "Disabling a webhook drops its waiting deliveries."),
    BOOL(rotate_secret,               .absent = "false", .doc = "Create a new secret; the old one keeps signing for a day, unless it is rotated again: then it ends at once."));

SHAPE(webhook, "Webhook", (.doc = "A destination for alert messages.",
      .example = EXAMPLE({"webhook_id": "w_5T1C", "url": "https://hooks.example.com/muster", "types": ["run.failed"], "label": "On call", "enabled": true, "waiting": 0, "dead": 0, "last_delivered_at": "2026-01-15T09:31:13Z"})),
    STR(webhook_id,         .flags = F_REQUIRED, .doc = "Identifies the webhook."),
    STR(url,                .flags = F_REQUIRED, .doc = "Where messages are sent: https://… or, for e-mail, mailto:…"),
    STR(format,             .flags = F_REQUIRED, .choices = webhook_format_names, .doc = "standard: signed as Standard Webhooks; slack: blocks; email: by SMTP; teams: an adaptive card; discord: an embed; pagerduty: Events API v2, with the URL https://events.pagerduty.com/v2/enqueue?routing_key=…; alertmanager: its API v2, with the URL …/api/v2/alerts."),
    LIST_STR(types,         .choices = message_types, .flags = F_REQUIRED, .doc = "Message types to send. Empty: all but agent.failing and agent.healthy, since run.failed tells of each run."),
    STR(label,              .flags = F_REQUIRED, .doc = "What the webhook is for."),
    BOOL(enabled,           .flags = F_REQUIRED, .doc = "Whether messages are sent."),
    TIME(created_at,        .flags = F_REQUIRED, .doc = "When it was created."),
    STR(secret,             .flags = F_REQUIRED | F_NULL, .doc = "Shown only once, when it is created: whsec_…"),
    STR(warning,            .flags = F_OMIT, .doc = "When it is created: why messages, or those of a type that it names, cannot be sent to it yet. Absent: they can."),
    INT(waiting,            .flags = F_REQUIRED, .doc = "Deliveries waiting to be sent."),
    INT(dead,               .flags = F_REQUIRED, .doc = "Deliveries that failed for good."),
    TIME(last_delivered_at, .flags = F_REQUIRED | F_NULL, .doc = "When a message was last delivered. Null: never."));

LIST_SHAPE(webhook_list, "WebhookList", (.doc = "The webhooks of a tenant."),
    ITEMS("webhooks", webhook_shape, .flags = F_REQUIRED, .doc = "The webhooks, oldest first."));

SHAPE(webhook_path, "WebhookPath", (.example = EXAMPLE({"slug": "acme", "webhook_id": "w_5T1C"})),
    STR(slug,       .flags = F_REQUIRED, .doc = "Slug of the tenant."),
    STR(webhook_id, .flags = F_REQUIRED, .doc = "Identifies the webhook."));

SHAPE(delivery_path, "DeliveryPath", (.example = EXAMPLE({"slug": "acme", "webhook_id": "w_5T1C", "delivery_id": "9001"})),
    STR(slug,        .flags = F_REQUIRED, .doc = "Slug of the tenant."),
    STR(webhook_id,  .flags = F_REQUIRED, .doc = "Identifies the webhook."),
    STR(delivery_id, .flags = F_REQUIRED, .doc = "Identifies the delivery."));

SHAPE(deliveries_query, "DeliveriesQuery", (),
    INT(limit,  .absent = "50", .least = 1, .most = 1000, .doc = "How many items a page has at most."),
    STR(cursor, .max = 64, .flags = F_NULL, .doc = "The next of the previous page."),
    ENUM(state, .flags = F_NULL, .choices = delivery_state_names, .doc = "Only deliveries in this state."));

STATIC_SHAPE(delivery_message, "DeliveryMessage", (.doc = "What a message says.",
      .example = EXAMPLE({"summary": "invoice-reader has been silent for 2 h"})),
    STR(summary, .flags = F_REQUIRED, .absent = "\"\"", .doc = "What happened, in a sentence."));

SHAPE(delivery, "Delivery", (.doc = "One message to one webhook.",
      .example = EXAMPLE({"delivery_id": "9001", "message_id": "msg_9001", "type": "run.failed", "state": "delivered", "attempts": 1, "last_at": "2026-01-15T09:31:13Z", "last_status": 200, "last_ms": 84})),
    STR(delivery_id,     .flags = F_REQUIRED, .doc = "Identifies the delivery."),
    STR(message_id,      .flags = F_REQUIRED, .doc = "Sent as webhook-id, the same for every attempt."),
    STR(type,            .flags = F_REQUIRED, .doc = "Type of the message."),
    NESTED(message, struct delivery_message, delivery_message_shape, .flags = F_REQUIRED, .doc = "What the message says."),
    STR(state,           .flags = F_REQUIRED, .choices = delivery_state_names, .doc = "waiting: an attempt is due; delivered; dead: given up."),
    TIME(created_at,     .flags = F_REQUIRED, .doc = "When it was created."),
    INT(attempts,        .flags = F_REQUIRED, .doc = "Attempts made."),
    TIME(next_at,        .flags = F_REQUIRED | F_NULL, .doc = "When the next attempt is due."),
    TIME(last_at,        .flags = F_REQUIRED | F_NULL, .doc = "When the last attempt was made. Null: none."),
    OPT_INT(last_status, .flags = F_REQUIRED | F_NULL, .doc = "HTTP status."),
    OPT_INT(last_ms,     .flags = F_REQUIRED | F_NULL, .doc = "Duration of the last attempt in milliseconds. Null: none."),
    STR(last_error,      .flags = F_REQUIRED | F_NULL, .doc = "Why the last attempt failed. Null: it did not."));

LIST_SHAPE(delivery_list, "DeliveryList", (.doc = "Deliveries of a webhook, newest first."),
    ITEMS("deliveries", delivery_shape, .flags = F_REQUIRED, .doc = "The deliveries."),
    STR(next,                        .flags = F_REQUIRED | F_NULL, .doc = "Cursor of the next page. Null: last page."));

SHAPE(webhook_tested, "WebhookTested", (.doc = "Result of a test message.",
      .example = EXAMPLE({"delivered": true, "status": 200, "ms": 84})),
    BOOL(delivered, .flags = F_REQUIRED, .doc = "Whether the receiver took the message."),
    OPT_INT(status, .flags = F_REQUIRED | F_NULL, .doc = "HTTP status. Null: no response."),
    INT(ms,         .flags = F_REQUIRED, .doc = "Duration of the attempt in milliseconds."),
    STR(error,      .flags = F_REQUIRED | F_NULL, .doc = "Why the attempt failed. Null: it did not."));
/* clang-format on */

/* formats_pager.c - PagerDuty and Alertmanager: what begins is also ended. */
#include "base/clock.h"
#include "base/datetime.h"
#include "features/webhooks/deliveries_store.h"
#include "features/webhooks/formats.h"
#include "features/webhooks/notice.h"
#include "shape/shape.h"

enum { BODY_MAX = 64 << 10, ROUTING_KEY_LEN = 32, FIRING_DAYS = 365 };

/* A member that is not null, and a comma before it. */
static void add_member(struct buf *out, const char *name, struct str value)
{
    if (value.len == 0)
        return;
    buf_printf(out, ",\"%s\":", name);
    buf_add_json(out, value);
}

struct str format_url_plain(struct str url)
{
    return str_split(&url, '?');
}

struct str format_routing_key(struct str url)
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

static void add_payload(struct buf *out, const struct notice *notice)
{
    char at[DATETIME_TEXT_MAX];

    buf_add_c(out, ",\"payload\":{\"summary\":");
    buf_add_json(out, notice->summary);
    buf_printf(out, ",\"timestamp\":\"%s\"", datetime_format(notice->opened_at, at).data);
    add_member(out, "source", notice->workspace);
    add_member(out, "severity", notice->severity);
    add_member(out, "component", notice->agent_name);
    add_member(out, "group", notice->workspace);
    add_member(out, "class", notice->message->type);
    buf_add_c(out, ",\"custom_details\":{\"workspace\":");
    buf_add_json(out, notice->workspace);
    add_member(out, "run_id", notice->run_id);
    add_member(out, "error", notice->error);
    add_member(out, "next_step", notice->next_step);
    buf_add_c(out, "}}");
}

struct str format_pagerduty(const struct notice *notice, struct str routing_key,
                            struct arena *arena)
{
    BUF_SCOPED(out, BODY_MAX);

    buf_printf(&out, "{\"event_action\":\"%s\"", notice->recovered ? "resolve" : "trigger");
    add_member(&out, "routing_key", routing_key);
    add_member(&out, "dedup_key",
               notice->alert_id.len > 0 ? notice->alert_id : notice->message->message_id);
    if (!notice->recovered) {
        add_payload(&out, notice);
        add_member(&out, "client", STR_LIT("muster"));
        add_member(&out, "client_url", notice->link);
        if (!str_is_null(notice->link)) {
            buf_add_c(&out, ",\"links\":[{\"text\":\"Open in muster\"");
            add_member(&out, "href", notice->link);
            buf_add_c(&out, "}]");
        }
    }
    buf_add_char(&out, '}');
    return buf_take(&out, arena);
}

/* When it ends; TIME_NULL: Alertmanager decides. */
static int64_t end_of(const struct notice *notice)
{
    int64_t closed_at =
        notice->closed_at == TIME_NULL ? notice->message->created_at : notice->closed_at;

    if (notice->recovered) /* a clock that was set back must not make it end before it began */
        return closed_at > notice->opened_at ? closed_at : notice->opened_at + USEC_PER_SEC;
    if (notice->lasts)
        return notice->opened_at + FIRING_DAYS * (int64_t)86400 * USEC_PER_SEC;
    return TIME_NULL;
}

/* The labels are its identity, so they are the same at its beginning and its end. */
struct str format_alertmanager(const struct notice *notice, struct arena *arena)
{
    char begin[DATETIME_TEXT_MAX], end[DATETIME_TEXT_MAX];
    int64_t ends_at = end_of(notice);
    BUF_SCOPED(out, BODY_MAX);

    buf_printf(&out, "[{\"labels\":{\"alertname\":\"Muster%.*s\"", STR_ARG(notice->name));
    add_member(&out, "workspace", notice->workspace);
    add_member(&out, "severity", notice->severity);
    add_member(&out, "agent", notice->agent_name);
    add_member(&out, "run_id", notice->run_id);
    add_member(&out, "alert_id", notice->alert_id);
    buf_add_c(&out, "},\"annotations\":{\"summary\":");
    buf_add_json(&out, notice->summary);
    add_member(&out, "error", notice->error);
    add_member(&out, "next_step", notice->next_step);
    buf_printf(&out, "},\"startsAt\":\"%s\"", datetime_format(notice->opened_at, begin).data);
    if (ends_at != TIME_NULL)
        buf_printf(&out, ",\"endsAt\":\"%s\"", datetime_format(ends_at, end).data);
    add_member(&out, "generatorURL", notice->link);
    buf_add_c(&out, "}]");
    return buf_take(&out, arena);
}

/* formats.c - a message as a notice, with what its type means; a notice as the JSON that each
 * service documents, as a mail, and signed. */
#include "features/webhooks/formats.h"

#include <sodium.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "base/digest.h"
#include "features/webhooks/shapes.h"
#include "features/webhooks/store.h"
#include "shape/problems.h"
#include "shape/table.h"

enum {
    STANDARD_MAX = 20 << 10, /* bytes of a standard body, … */
    BODY_MAX = 64 << 10,     /* … and of the others */
    SUBJECT_MAX = 200,
    KEY_BYTES = 24,
    DISCORD_TITLE = 120, /* bytes before escaping, which at most doubles them */
    DISCORD_VALUE = 500,
    DISCORD_RED = 0xd92d20,
    DISCORD_GREEN = 0x16a34a,
    FIRING_DAYS = 365,
};

/* What a type of message means, and the type that reports its end. Both have its name and severity.
 */
static const struct meaning {
    const char *type, *end; /* NULL: it does not last */
    const char *name, *severity, *next_step, *end_step;
} meanings[] = {
    { "agent.silent", "agent.recovered", "AgentSilent", "error",
      "Check that the agent's process runs and can reach this service.",
      "Nothing to do: it reports again." },
    { "run.failed", NULL, "RunFailed", "error",
      "Open the run to see its steps and its error, fix the cause, and run it again.", NULL },
    { "run.stuck", "run.recovered", "RunStuck", "warning",
      "Look at the run's last step. If its process is gone, start it again: this service closes no "
      "run by itself.",
      NULL },
    { "kpi.crossed", "kpi.recovered", "KpiCrossed", "warning",
      "Look at the KPI's history, and at the runs of that time.", NULL },
    { "budget.exceeded", "budget.recovered", "BudgetExceeded", "warning",
      "See which agents and models cost most; choose a cheaper model or raise the budget.", NULL },
    { "budget.forecast", "budget.on_track", "BudgetForecast", "warning",
      "See which agents and models cost most, while there is time to choose a cheaper model or "
      "raise the budget.",
      NULL },
    { "agent.failing", "agent.healthy", "AgentFailing", "error",
      "Open the agent's failed runs: what they have in common is the cause.",
      "Nothing to do: its runs complete again." },
    { "failure_rate.exceeded", "failure_rate.recovered", "FailureRateExceeded", "error",
      "See which agents and errors make up most of the failed runs.", NULL },
    { "duration.exceeded", "duration.recovered", "DurationExceeded", "warning",
      "Compare a slow run with an earlier one, step by step.", NULL },
};
static const struct meaning other = {
    "test", NULL, "Test", "info", "Nothing to do: this is a test.", NULL
};

static const struct meaning *meaning_of(struct str type, bool *ret_ended)
{
    for (size_t i = 0; i < COUNT_OF(meanings); i++) {
        *ret_ended = meanings[i].end != NULL && str_eq_c(type, meanings[i].end);
        if (*ret_ended || str_eq_c(type, meanings[i].type))
            return &meanings[i];
    }
    return &other;
}

static const char *next_step_of(const struct meaning *meaning, bool ended)
{
    if (!ended)
        return meaning->next_step;
    return meaning->end_step != NULL ? meaning->end_step : "Nothing to do: it is over.";
}

/* The parts of a message's data that are read again. */
struct data_detail {
    struct str error_type, error_message;
};

struct data {
    struct str summary, alert_id, agent_name, run_id;
    int64_t opened_at, closed_at;
    struct data_detail *detail;
};

/* clang-format off */
STATIC_SHAPE(data_detail, "MessageDetail", (),
    STR(error_type,    .flags = F_NULL),
    STR(error_message, .flags = F_NULL));

STATIC_SHAPE(data, "MessageData", (),
    STR(summary,     .flags = F_NULL),
    STR(alert_id,    .flags = F_NULL),
    STR(agent_name,  .flags = F_NULL),
    STR(run_id,      .flags = F_NULL),
    TIME(opened_at,  .flags = F_NULL),
    TIME(closed_at,  .flags = F_NULL),
    NESTED(detail, struct data_detail, data_detail_shape, .flags = F_NULL));
/* clang-format on */

static struct str error_of(const struct data_detail *detail, struct arena *arena)
{
    struct str type, text;

    if (detail == NULL)
        return STR_NULL;
    type = utf8_cut(detail->error_type, NOTICE_NAME_MAX);
    text = detail->error_message;
    if (type.len == 0 && text.len == 0)
        return STR_NULL;
    if (type.len > 0 && text.len > 0)
        text = arena_printf(arena, "%.*s: %.*s", STR_ARG(type), STR_ARG(text));
    else if (type.len > 0)
        text = type;
    return utf8_cut(text, NOTICE_TEXT_MAX);
}

/* The page of the portal that shows it. */
static void add_page(struct buf *out, const struct notice *n)
{
    if (!str_is_null(n->run_id)) {
        buf_add_c(out, "runs/");
        buf_add_percent(out, n->run_id);
    } else if (str_eq_c(n->name, "BudgetExceeded")) {
        buf_add_c(out, "cost");
    } else if (!str_is_null(n->agent_name)) {
        buf_add_c(out, "agents/");
        buf_add_percent(out, n->agent_name);
    } else {
        buf_add_c(out, "alerts");
    }
}

static struct str link_of(const struct notice *n, const struct notice_place *place,
                          struct arena *arena)
{
    struct str base = place->public_url == NULL ? STR_NULL : str_of(place->public_url);
    BUF_SCOPED(out, NOTICE_LINK_MAX);

    while (base.len > 0 && base.data[base.len - 1] == '/')
        base.len--;
    if (base.len == 0)
        return STR_NULL;
    buf_printf(&out, "%.*s/#/t/%.*s/", STR_ARG(base), STR_ARG(place->workspace));
    add_page(&out, n);
    return out.overflown ? STR_NULL : arena_copy(arena, buf_str(&out));
}

struct notice notice_of(const struct message_row *message, const struct notice_place *place,
                        struct arena *arena)
{
    bool ended;
    const struct meaning *meaning = meaning_of(message->type, &ended);
    struct data data = { .opened_at = TIME_NULL, .closed_at = TIME_NULL };
    struct notice n;

    if (shape_read_json(&data_shape, message->data, arena, &data, problems_new(arena, "body")) != 0)
        data = (struct data){ .opened_at = TIME_NULL, .closed_at = TIME_NULL };
    n = (struct notice){
        .message = message,
        .workspace = place->workspace,
        .summary = data.summary.len > 0 ? utf8_cut(data.summary, NOTICE_TEXT_MAX) : message->type,
        .run_id = data.run_id,
        .alert_id = data.alert_id,
        .error = error_of(data.detail, arena),
        .name = str_of(meaning->name),
        .severity = str_of(meaning->severity),
        .next_step = str_of(next_step_of(meaning, ended)),
        .recovered = ended,
        .lasts = !ended && meaning->end != NULL,
        .opened_at = data.opened_at == TIME_NULL ? message->created_at : data.opened_at,
        .closed_at = data.closed_at,
    };
    n.agent_name = data.agent_name;
    n.link = link_of(&n, place, arena); /* leads to the whole name */
    if (!str_is_null(n.agent_name))
        n.agent_name = utf8_cut(n.agent_name, NOTICE_NAME_MAX);
    return n;
}

/* A line about the message that is not null. */
struct notice_fact {
    const char *title;
    struct str text;
};
enum { NOTICE_FACTS_MAX = 4 };

/* Workspace, agent, run and error, those that are known; returns their number. */
static size_t notice_facts(const struct notice *notice, struct notice_fact ret[NOTICE_FACTS_MAX])
{
    const struct notice_fact facts[NOTICE_FACTS_MAX] = { { "Workspace", notice->workspace },
                                                         { "Agent", notice->agent_name },
                                                         { "Run", notice->run_id },
                                                         { "Error", notice->error } };
    size_t n = 0;

    for (size_t i = 0; i < NOTICE_FACTS_MAX; i++)
        if (facts[i].text.len > 0)
            ret[n++] = facts[i];
    return n;
}

/* A member that is not null, and a comma before it. */
static void add_member(struct buf *out, const char *name, struct str value)
{
    if (value.len == 0)
        return;
    buf_printf(out, ",\"%s\":", name);
    buf_add_json(out, value);
}

/* Data is an object; the members that are added come first. */
static void add_data(struct buf *out, const struct notice *notice)
{
    const struct str data = notice->message->data;

    buf_add_c(out, "{\"workspace\":");
    buf_add_json(out, notice->workspace);
    add_member(out, "link", notice->link);
    add_member(out, "next_step", notice->next_step);
    buf_add_c(out, data.len > 2 ? "," : "}");
    if (data.len > 2)
        buf_add(out, str_from(data.data + 1, data.len - 1));
}

/* The JSON of the Standard Webhooks form: type, timestamp, data. To the data it adds workspace,
 * link and next_step. */
static struct str format_standard(const struct notice *notice, struct arena *arena)
{
    const struct message_row *message = notice->message;
    char at[DATETIME_TEXT_MAX];
    BUF_SCOPED(out, STANDARD_MAX);

    buf_add_c(&out, "{\"type\":");
    buf_add_json(&out, message->type);
    buf_printf(&out,
               ",\"timestamp\":\"%s\",\"data\":", datetime_format(message->created_at, at).data);
    add_data(&out, notice);
    buf_add_char(&out, '}');
    return buf_take(&out, arena);
}

/* Encoded as RFC 2047 requires: base64 in words of at most 75 characters, so that no byte of the
 * value can end the header. */
static void add_subject(struct buf *out, struct str s)
{
    enum { WORD_BYTES = 42 };
    char word[sodium_base64_ENCODED_LEN(WORD_BYTES, sodium_base64_VARIANT_ORIGINAL)];

    buf_add_c(out, "Subject:");
    while (s.len > 0) {
        size_t n = s.len < WORD_BYTES ? s.len : WORD_BYTES;

        while (n > 1 && n < s.len && ((unsigned char)s.data[n] & 0xc0) == 0x80)
            n--; /* a word holds whole characters */
        (void)sodium_bin2base64(word, sizeof(word), (const unsigned char *)s.data, n,
                                sodium_base64_VARIANT_ORIGINAL);
        buf_printf(out, " =?UTF-8?B?%s?=\r\n", word);
        s = str_from(s.data + n, s.len - n);
    }
}

/* In lines of 76 characters: no line starts with a dot or exceeds the limit. */
static void add_base64_lines(struct buf *out, struct str s)
{
    enum { LINE_BYTES = 57 };
    char line[sodium_base64_ENCODED_LEN(LINE_BYTES, sodium_base64_VARIANT_ORIGINAL)];

    for (size_t at = 0; at < s.len; at += LINE_BYTES) {
        size_t n = s.len - at < LINE_BYTES ? s.len - at : LINE_BYTES;

        (void)sodium_bin2base64(line, sizeof(line), (const unsigned char *)s.data + at, n,
                                sodium_base64_VARIANT_ORIGINAL);
        buf_printf(out, "%s\r\n", line);
    }
}

/* In the form of RFC 5322; mail without a date is often taken for spam. */
static void add_date(struct buf *out, int64_t at)
{
    static const char days[][4] = { "Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed" };
    static const char months[][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
    struct datetime_parts t = datetime_split(at);

    buf_printf(out, "Date: %s, %02d %s %04d %02d:%02d:%02d +0000\r\n",
               days[at / USEC_PER_SEC / 86400 % 7], t.day, months[t.month - 1], t.year, t.hour,
               t.minute, t.second);
}

/* The text of a mail: the sentence, what is known, and what to do. */
static void add_mail_text(struct buf *out, const struct notice *notice)
{
    struct notice_fact facts[NOTICE_FACTS_MAX];
    size_t n = notice_facts(notice, facts);
    char at[DATETIME_TEXT_MAX];

    buf_printf(out, "%.*s\r\n\r\n", STR_ARG(notice->summary));
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s: %.*s\r\n", facts[i].title, STR_ARG(facts[i].text));
    buf_printf(out, "Time: %s\r\nNext step: %.*s\r\n",
               datetime_format_second(notice->message->created_at, at).data,
               STR_ARG(notice->next_step));
    if (!str_is_null(notice->link))
        buf_printf(out, "\r\n%.*s\r\n", STR_ARG(notice->link));
    buf_printf(out, "\r\n-- \r\n%.*s %.*s\r\n", STR_ARG(notice->message->type),
               STR_ARG(notice->alert_id));
}

struct str format_letter(const struct letter *letter, struct str from, struct arena *arena)
{
    BUF_SCOPED(out, (size_t)4 * STANDARD_MAX);

    buf_printf(&out, "From: muster <%.*s>\r\nTo: <%.*s>\r\n", STR_ARG(from), STR_ARG(letter->to));
    add_date(&out, letter->at);
    add_subject(&out, utf8_cut(letter->subject, SUBJECT_MAX));
    buf_printf(&out,
               "Message-ID: <%.*s@muster>\r\nMIME-Version: 1.0\r\n"
               "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n"
               "Auto-Submitted: auto-generated\r\n\r\n",
               STR_ARG(letter->message_id));
    add_base64_lines(&out, letter->text);
    return buf_take(&out, arena);
}

struct str format_mail(const struct notice *notice, struct str from, struct str to,
                       struct arena *arena)
{
    struct letter letter = { .to = to,
                             .subject = notice->summary,
                             .message_id = notice->message->message_id,
                             .at = notice->message->created_at };
    BUF_SCOPED(text, STANDARD_MAX);

    add_mail_text(&text, notice);
    letter.text = buf_str(&text);
    return format_letter(&letter, from, arena);
}

/* Slack reads these three characters as markup. */
static struct str escape_slack(struct str s, struct arena *arena)
{
    BUF_SCOPED(out, BODY_MAX);

    for (size_t i = 0; i < s.len; i++) {
        switch (s.data[i]) {
        case '&':
            buf_add_c(&out, "&amp;");
            break;
        case '<':
            buf_add_c(&out, "&lt;");
            break;
        case '>':
            buf_add_c(&out, "&gt;");
            break;
        default:
            buf_add_char(&out, s.data[i]);
        }
    }
    return buf_take(&out, arena);
}

static void add_slack_plain(struct buf *out, const char *title, struct str text,
                            struct arena *arena)
{
    buf_add_c(out, "{\"type\":\"plain_text\",\"emoji\":false,\"text\":");
    buf_add_json(out,
                 title[0] == '\0' ? text : arena_printf(arena, "%s\n%.*s", title, STR_ARG(text)));
    buf_add_char(out, '}');
}

static void add_slack_section(struct buf *out, const char *title, struct str text,
                              struct arena *arena)
{
    buf_add_c(out, "{\"type\":\"section\",\"text\":");
    add_slack_plain(out, title, text, arena);
    buf_add_char(out, '}');
}

static void add_slack_link(struct buf *out, struct str link, struct arena *arena)
{
    const struct str escaped = escape_slack(link, arena);

    buf_add_c(out, ",{\"type\":\"section\",\"text\":{\"type\":\"mrkdwn\",\"text\":");
    buf_add_json(out, arena_printf(arena, "<%.*s|Open in muster>", STR_ARG(escaped)));
    buf_add_c(out, "}}");
}

/* Slack's blocks, with `text` for notifications and for services that know no blocks. A section's
 * text has 3,000 characters at most, a field 2,000. */
static struct str format_slack(const struct notice *notice, struct arena *arena)
{
    struct notice_fact facts[NOTICE_FACTS_MAX];
    size_t n = notice_facts(notice, facts);
    BUF_SCOPED(out, BODY_MAX);

    buf_add_c(&out, "{\"text\":");
    buf_add_json(&out, escape_slack(notice->summary, arena));
    buf_add_c(&out, ",\"blocks\":[");
    add_slack_section(&out, "", notice->summary, arena);
    buf_add_c(&out, ",{\"type\":\"section\",\"fields\":[");
    for (size_t i = 0; i < n; i++) {
        buf_add_c(&out, i == 0 ? "" : ",");
        add_slack_plain(&out, facts[i].title, facts[i].text, arena);
    }
    buf_add_c(&out, "]},");
    add_slack_section(&out, "Next step", notice->next_step, arena);
    if (!str_is_null(notice->link))
        add_slack_link(&out, notice->link, arena);
    buf_add_c(&out, "]}");
    return buf_take(&out, arena);
}

/* A paragraph without markup: text runs are shown as they are. */
static void add_teams_text(struct buf *out, const char *title, struct str text, bool large)
{
    buf_add_c(out, "{\"type\":\"RichTextBlock\",\"inlines\":[");
    if (title[0] != '\0')
        buf_printf(out, "{\"type\":\"TextRun\",\"weight\":\"bolder\",\"text\":\"%s: \"},", title);
    buf_printf(out, "{\"type\":\"TextRun\"%s,\"text\":",
               large ? ",\"size\":\"medium\",\"weight\":\"bolder\"" : "");
    buf_add_json(out, text);
    buf_add_c(out, "}]}");
}

/* A message with an adaptive card, as Microsoft Teams' workflows take it: 28 KB at most. */
static struct str format_teams(const struct notice *notice, struct arena *arena)
{
    struct notice_fact facts[NOTICE_FACTS_MAX];
    size_t n = notice_facts(notice, facts);
    BUF_SCOPED(out, BODY_MAX);

    buf_add_c(&out, "{\"type\":\"message\",\"attachments\":[{\"contentType\":"
                    "\"application/vnd.microsoft.card.adaptive\",\"contentUrl\":null,"
                    "\"content\":{\"$schema\":\"http://adaptivecards.io/schemas/adaptive-card.json"
                    "\",\"type\":\"AdaptiveCard\",\"version\":\"1.4\",\"body\":[");
    add_teams_text(&out, "", notice->summary, true);
    for (size_t i = 0; i < n; i++) {
        buf_add_char(&out, ',');
        add_teams_text(&out, facts[i].title, facts[i].text, false);
    }
    buf_add_char(&out, ',');
    add_teams_text(&out, "Next step", notice->next_step, false);
    buf_add_char(&out, ']');
    if (!str_is_null(notice->link)) {
        buf_add_c(&out, ",\"actions\":[{\"type\":\"Action.OpenUrl\",\"title\":\"Open in muster\","
                        "\"url\":");
        buf_add_json(&out, notice->link);
        buf_add_c(&out, "}]");
    }
    buf_add_c(&out, "}}]}");
    return buf_take(&out, arena);
}

/* Discord reads Markdown: a backslash before a punctuation mark makes it plain. */
static struct str escape_discord(struct str s, struct arena *arena)
{
    BUF_SCOPED(out, BODY_MAX);

    for (size_t i = 0; i < s.len; i++) {
        if (s.data[i] != '\0' && strchr("\\*_~`|<>[]()#@:-", s.data[i]) != NULL)
            buf_add_char(&out, '\\');
        buf_add_char(&out, s.data[i]);
    }
    return buf_take(&out, arena);
}

static void add_discord_field(struct buf *out, const char *title, struct str text,
                              struct arena *arena)
{
    buf_printf(out, "{\"name\":\"%s\",\"value\":", title);
    buf_add_json(out, escape_discord(utf8_cut(text, DISCORD_VALUE), arena));
    buf_add_char(out, '}');
}

/* A message with one embed, without mentions: title 256 characters, description 4,096, a field's
 * value 1,024, all together 6,000. */
static struct str format_discord(const struct notice *notice, struct arena *arena)
{
    struct notice_fact facts[NOTICE_FACTS_MAX];
    size_t n = notice_facts(notice, facts);
    char at[DATETIME_TEXT_MAX];
    BUF_SCOPED(out, BODY_MAX);

    buf_add_c(&out, "{\"allowed_mentions\":{\"parse\":[]},\"embeds\":[{\"title\":");
    buf_add_json(&out, escape_discord(utf8_cut(notice->message->type, DISCORD_TITLE), arena));
    buf_add_c(&out, ",\"description\":");
    buf_add_json(&out, escape_discord(notice->summary, arena));
    add_member(&out, "url", notice->link);
    buf_printf(&out, ",\"color\":%d,\"timestamp\":\"%s\",\"fields\":[",
               notice->recovered ? DISCORD_GREEN : DISCORD_RED,
               datetime_format(notice->message->created_at, at).data);
    for (size_t i = 0; i < n; i++) {
        add_discord_field(&out, facts[i].title, facts[i].text, arena);
        buf_add_char(&out, ',');
    }
    add_discord_field(&out, "Next step", notice->next_step, arena);
    buf_add_c(&out, "]}]}");
    return buf_take(&out, arena);
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

/* An event of PagerDuty's Events API v2 for the integration `routing_key`: summary 1,024
 * characters, dedup_key 255. The end of an alert resolves what its beginning triggered. */
static struct str format_pagerduty(const struct notice *notice, struct str routing_key,
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

/* The labels are its identity, so they are the same at its beginning and its end. One alert of
 * Alertmanager's API v2. It fires until the message that it is over; what has no such message ends
 * after Alertmanager's resolve_timeout. */
static struct str format_alertmanager(const struct notice *notice, struct arena *arena)
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

static const struct str prefix = STR_INIT("whsec_");

struct str format_body(const struct notice *notice, int format, struct str url, struct arena *arena)
{
    switch ((enum webhook_format)format) {
    case WEBHOOK_SLACK:
        return format_slack(notice, arena);
    case WEBHOOK_TEAMS:
        return format_teams(notice, arena);
    case WEBHOOK_DISCORD:
        return format_discord(notice, arena);
    case WEBHOOK_PAGERDUTY:
        return format_pagerduty(notice, webhook_routing_key(url), arena);
    case WEBHOOK_ALERTMANAGER:
        return format_alertmanager(notice, arena);
    case WEBHOOK_STANDARD:
    case WEBHOOK_EMAIL:
        break;
    }
    return format_standard(notice, arena);
}

void webhook_secret_make(char ret[WEBHOOK_SECRET_LEN + 1])
{
    unsigned char key[KEY_BYTES];

    digest_random(key, sizeof(key));
    memcpy(ret, prefix.data, prefix.len);
    (void)sodium_bin2base64(ret + prefix.len, WEBHOOK_SECRET_LEN + 1 - prefix.len, key, sizeof(key),
                            sodium_base64_VARIANT_ORIGINAL);
    sodium_memzero(key, sizeof(key));
}

/* Decodes "whsec_…"; false when it is malformed. */
static bool key_of(struct str secret, unsigned char ret[KEY_BYTES])
{
    size_t n = 0;

    return str_starts(secret, prefix) &&
           sodium_base642bin(ret, KEY_BYTES, secret.data + prefix.len, secret.len - prefix.len,
                             NULL, &n, NULL, sodium_base64_VARIANT_ORIGINAL) == 0 &&
           n == KEY_BYTES;
}

struct str webhook_signature(const struct str *secrets, size_t n, struct str message_id,
                             int64_t timestamp_s, struct str body, struct arena *arena)
{
    char text[sodium_base64_ENCODED_LEN(crypto_auth_hmacsha256_BYTES,
                                        sodium_base64_VARIANT_ORIGINAL)];
    struct str signed_text = arena_printf(arena, "%.*s.%lld.%.*s", STR_ARG(message_id),
                                          (long long)timestamp_s, STR_ARG(body));
    unsigned char key[KEY_BYTES], mac[crypto_auth_hmacsha256_BYTES];
    crypto_auth_hmacsha256_state state;
    bool good = true;
    BUF_SCOPED(out, STANDARD_MAX);

    for (size_t i = 0; i < n && (good = key_of(secrets[i], key)); i++) {
        crypto_auth_hmacsha256_init(&state, key, sizeof(key));
        crypto_auth_hmacsha256_update(&state, (const unsigned char *)signed_text.data,
                                      signed_text.len);
        crypto_auth_hmacsha256_final(&state, mac);
        (void)sodium_bin2base64(text, sizeof(text), mac, sizeof(mac),
                                sodium_base64_VARIANT_ORIGINAL);
        buf_printf(&out, "%sv1,%s", i == 0 ? "" : " ", text);
    }
    sodium_memzero(key, sizeof(key));
    sodium_memzero(&state, sizeof(state));
    if (good)
        return buf_take(&out, arena);
    return STR_NULL;
}

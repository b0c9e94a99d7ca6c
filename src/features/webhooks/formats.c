/* formats.c - a notice as the JSON that each service documents, as a mail, and signed. */
#include "features/webhooks/formats.h"

#include <sodium.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "base/digest.h"
#include "features/webhooks/deliveries_store.h"
#include "features/webhooks/notice.h"
#include "shape/shape.h"

enum {
    STANDARD_MAX = 20 << 10, /* bytes of a standard body, … */
    BODY_MAX = 64 << 10,     /* … and of the others */
    SUBJECT_MAX = 200,
    KEY_BYTES = 24,
    DISCORD_TITLE = 120, /* bytes before escaping, which at most doubles them */
    DISCORD_VALUE = 500,
    DISCORD_RED = 0xd92d20,
    DISCORD_GREEN = 0x16a34a,
    ROUTING_KEY_LEN = 32,
    FIRING_DAYS = 365,
};

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

struct str format_standard(const struct notice *notice, struct arena *arena)
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

struct str format_slack(const struct notice *notice, struct arena *arena)
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

struct str format_teams(const struct notice *notice, struct arena *arena)
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

struct str format_discord(const struct notice *notice, struct arena *arena)
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

static const struct str prefix = STR_INIT("whsec_");

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

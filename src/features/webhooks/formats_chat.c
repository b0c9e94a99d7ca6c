/* formats_chat.c - Slack, Microsoft Teams and Discord. */
#include <string.h>

#include "base/buf.h"
#include "base/datetime.h"
#include "features/webhooks/deliveries_store.h"
#include "features/webhooks/formats.h"
#include "features/webhooks/notice.h"
#include "shape/utf8.h"

enum {
    BODY_MAX = 64 << 10,
    DISCORD_TITLE = 120, /* bytes before escaping, which at most doubles them */
    DISCORD_VALUE = 500,
    DISCORD_RED = 0xd92d20,
    DISCORD_GREEN = 0x16a34a,
};

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
    if (!str_is_null(notice->link)) {
        buf_add_c(&out, ",\"url\":");
        buf_add_json(&out, notice->link);
    }
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

/* body.c - the standard body, mails, and the HMAC-SHA256 over a body. */
#include "features/webhooks/body.h"

#include <sodium.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "base/digest.h"
#include "features/webhooks/deliveries_store.h"
#include "features/webhooks/notice.h"
#include "shape/utf8.h"

enum { KEY_BYTES = 24, BODY_MAX = 20 << 10, SUBJECT_MAX = 200 };

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

/* Data is an object; the members that are added come first. */
static void add_data(struct buf *out, const struct notice *notice)
{
    const struct str data = notice->message->data;

    buf_add_c(out, "{\"workspace\":");
    buf_add_json(out, notice->workspace);
    if (!str_is_null(notice->link)) {
        buf_add_c(out, ",\"link\":");
        buf_add_json(out, notice->link);
    }
    buf_add_c(out, ",\"next_step\":");
    buf_add_json(out, notice->next_step);
    buf_add_c(out, data.len > 2 ? "," : "}");
    if (data.len > 2)
        buf_add(out, str_from(data.data + 1, data.len - 1));
}

struct str webhook_body(const struct notice *notice, struct arena *arena)
{
    const struct message_row *message = notice->message;
    char at[DATETIME_TEXT_MAX];
    BUF_SCOPED(out, BODY_MAX);

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

struct str webhook_body_letter(const struct letter *letter, struct str from, struct arena *arena)
{
    BUF_SCOPED(out, (size_t)4 * BODY_MAX);

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

struct str webhook_body_mail(const struct notice *notice, struct str from, struct str to,
                             struct arena *arena)
{
    struct letter letter = { .to = to,
                             .subject = notice->summary,
                             .message_id = notice->message->message_id,
                             .at = notice->message->created_at };
    BUF_SCOPED(text, BODY_MAX);

    add_mail_text(&text, notice);
    letter.text = buf_str(&text);
    return webhook_body_letter(&letter, from, arena);
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
    BUF_SCOPED(out, BODY_MAX);

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

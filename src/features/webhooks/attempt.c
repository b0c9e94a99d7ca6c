/* attempt.c - sets up a libcurl transfer and reads its result. */
#include "features/webhooks/attempt.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "features/webhooks/body.h"
#include "features/webhooks/formats.h"
#include "features/webhooks/lookup.h"
#include "features/webhooks/notice.h"
#include "features/webhooks/shapes.h"

static const char not_public[] = "the host name resolves to an address that is not public";

enum { TIMEOUT_MS = 15000, CONNECT_MS = 5000, REPLY_MAX = 64 << 10 };

/* Compares the addresses, not the ports. */
static bool is_same_address(const struct sockaddr *a, const struct sockaddr *b)
{
    struct sockaddr_in6 a6, b6;
    struct sockaddr_in a4, b4;

    if (a->sa_family != b->sa_family)
        return false;
    if (a->sa_family == AF_INET6) {
        memcpy(&a6, a, sizeof(a6));
        memcpy(&b6, b, sizeof(b6));
        return memcmp(&a6.sin6_addr, &b6.sin6_addr, sizeof(a6.sin6_addr)) == 0;
    }
    memcpy(&a4, a, sizeof(a4));
    memcpy(&b4, b, sizeof(b4));
    return a4.sin_addr.s_addr == b4.sin_addr.s_addr;
}

/* Is it one of the addresses that the lookup found? */
static bool was_looked_up(const struct attempt *f, const struct sockaddr *address)
{
    const char *why;

    for (const struct addrinfo *a = lookup_found(f->lookup, &why); a != NULL; a = a->ai_next)
        if (is_same_address(a->ai_addr, address))
            return true;
    return false;
}

/* The check that counts: libcurl opens every connection through here, however it resolved the
 * name. */
static curl_socket_t attempt_open_socket(void *ctx, curlsocktype purpose,
                                         struct curl_sockaddr *address)
{
    struct attempt *f = ctx;

    (void)purpose;
    if (!f->options->rules.allow_private &&
        (!target_is_public(&address->addr) ||
         (f->lookup != NULL && !was_looked_up(f, &address->addr)))) {
        f->forbidden = true;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* The response is not needed: headers and body are counted, and cut off at REPLY_MAX. */
static size_t attempt_drop_reply(char *bytes, size_t size, size_t n, void *ctx)
{
    struct attempt *f = ctx;

    (void)bytes;
    f->reply_bytes += size * n;
    return f->reply_bytes > REPLY_MAX ? 0 : size * n;
}

static size_t attempt_read_mail(char *to, size_t size, size_t n, void *ctx)
{
    struct attempt *f = ctx;
    size_t left = f->body.len - f->body_sent, room = size * n, part = left < room ? left : room;

    memcpy(to, f->body.data + f->body_sent, part);
    f->body_sent += part;
    return part;
}

static void add_header(struct attempt *f, struct str line)
{
    struct curl_slist *list = curl_slist_append(f->headers, line.data);

    if (list == NULL)
        err_die("out of memory");
    f->headers = list;
}

static void set_common(struct attempt *f)
{
    CURL *e = f->easy;

    (void)curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    /* Otherwise a hanging name server would block the thread until it answers. */
    (void)curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L);
    (void)curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, (long)TIMEOUT_MS);
    (void)curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    (void)curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_easy_setopt(e, CURLOPT_PROXY, "");
    (void)curl_easy_setopt(e, CURLOPT_FORBID_REUSE, 1L);
    (void)curl_easy_setopt(e, CURLOPT_ERRORBUFFER, f->error);
    (void)curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, attempt_drop_reply);
    (void)curl_easy_setopt(e, CURLOPT_WRITEDATA, (void *)f);
    (void)curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, attempt_drop_reply);
    (void)curl_easy_setopt(e, CURLOPT_HEADERDATA, (void *)f);
}

static void attempt_lookup_done(void *multi)
{
    (void)curl_multi_wakeup(multi);
}

static struct notice notice_for(struct attempt *f)
{
    const struct notice_place place = { f->webhook.workspace, f->options->public_url };

    return notice_of(&f->delivery.message, &place, &f->arena);
}

static struct str body_of(struct attempt *f)
{
    const struct notice notice = notice_for(f);

    switch ((enum webhook_format)f->webhook.format) {
    case WEBHOOK_SLACK:
        return format_slack(&notice, &f->arena);
    case WEBHOOK_TEAMS:
        return format_teams(&notice, &f->arena);
    case WEBHOOK_DISCORD:
        return format_discord(&notice, &f->arena);
    case WEBHOOK_PAGERDUTY:
        return format_pagerduty(&notice, format_routing_key(f->webhook.url), &f->arena);
    case WEBHOOK_ALERTMANAGER:
        return format_alertmanager(&notice, &f->arena);
    case WEBHOOK_STANDARD:
    case WEBHOOK_EMAIL:
        break;
    }
    return webhook_body(&notice, &f->arena);
}

/* PagerDuty reads its key in the body. */
static const char *url_of(struct attempt *f)
{
    bool keyed = f->webhook.format == WEBHOOK_PAGERDUTY;

    return arena_cstr(&f->arena, keyed ? format_url_plain(f->webhook.url) : f->webhook.url);
}

static const char *prepare_post(struct attempt *f)
{
    const char *wrong = target_check_url(f->webhook.url, &f->options->rules);
    int64_t now_s = clock_wall_us() / USEC_PER_SEC;
    struct str secrets[COUNT_OF(f->secrets)], signature;
    CURL *e = f->easy;

    if (wrong != NULL)
        return wrong;
    for (size_t i = 0; i < f->n_secrets; i++)
        secrets[i] = str_from(f->secrets[i], WEBHOOK_SECRET_LEN);
    f->body = body_of(f);
    signature = webhook_signature(secrets, f->n_secrets, f->delivery.message.message_id, now_s,
                                  f->body, &f->arena);
    if (str_is_null(signature))
        return "stored webhook secret is malformed";
    add_header(f, STR_LIT("Content-Type: application/json"));
    add_header(f, STR_LIT("Expect:"));
    add_header(
        f, arena_printf(&f->arena, "webhook-id: %.*s", STR_ARG(f->delivery.message.message_id)));
    add_header(f, arena_printf(&f->arena, "webhook-timestamp: %lld", (long long)now_s));
    if (f->n_secrets > 0)
        add_header(f, arena_printf(&f->arena, "webhook-signature: %.*s", STR_ARG(signature)));
    (void)curl_easy_setopt(e, CURLOPT_URL, url_of(f));
    (void)curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    (void)curl_easy_setopt(e, CURLOPT_USERAGENT, "muster");
    (void)curl_easy_setopt(e, CURLOPT_HTTPHEADER, f->headers);
    (void)curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)f->body.len);
    (void)curl_easy_setopt(e, CURLOPT_POSTFIELDS, f->body.data);
    (void)curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, attempt_open_socket);
    (void)curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, (void *)f);
    f->endpoint = target_endpoint_of(f->webhook.url, &f->arena);
    if (f->endpoint.is_name && !f->options->rules.allow_private)
        f->lookup =
            lookup_new(f->endpoint.host, f->endpoint.port, attempt_lookup_done, f->options->multi);
    return NULL;
}

/* libcurl copies the password. */
static const char *set_password(CURL *easy, const char *path)
{
    enum { PASSWORD_MAX = 1024 };
    char password[PASSWORD_MAX];
    FILE *file = fopen(path, "re");
    bool read;

    if (file == NULL)
        return "mail cannot be sent: smtp_password_file cannot be opened";
    read = fgets(password, sizeof(password), file) != NULL;
    (void)fclose(file);
    if (read) {
        password[strcspn(password, "\r\n")] = '\0';
        (void)curl_easy_setopt(easy, CURLOPT_PASSWORD, password);
    }
    sodium_memzero(password, sizeof(password));
    return read ? NULL : "mail cannot be sent: smtp_password_file is empty";
}

/* The address of a mailto: target. */
static struct str mail_recipient(const struct attempt *f)
{
    static const struct str scheme = STR_INIT("mailto:");

    return str_from(f->webhook.url.data + scheme.len, f->webhook.url.len - scheme.len);
}

static struct str mail_body_of(struct attempt *f, struct str from, struct str to)
{
    const struct notice notice = notice_for(f);

    return webhook_body_mail(&notice, from, to, &f->arena);
}

static bool is_mail(const struct attempt *f)
{
    return f->letter != NULL || f->webhook.format == WEBHOOK_EMAIL;
}

static const char *prepare_mail(struct attempt *f, const struct mail_options *mail)
{
    const struct str from = str_of(mail->from);
    struct str to;
    const char *wrong;
    CURL *e = f->easy;

    if (mail->url[0] == '\0' || mail->from[0] == '\0')
        return "mail cannot be sent: set smtp_url and smtp_from";
    to = f->letter != NULL ? f->letter->to : mail_recipient(f);
    f->body = f->letter != NULL ? webhook_body_letter(f->letter, from, &f->arena)
                                : mail_body_of(f, from, to);
    f->recipients = curl_slist_append(NULL, arena_cstr(&f->arena, to));
    if (f->recipients == NULL)
        err_die("out of memory");
    (void)curl_easy_setopt(e, CURLOPT_URL, mail->url);
    (void)curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
    (void)curl_easy_setopt(e, CURLOPT_USE_SSL, (long)CURLUSESSL_TRY);
    (void)curl_easy_setopt(e, CURLOPT_MAIL_FROM, mail->from);
    (void)curl_easy_setopt(e, CURLOPT_MAIL_RCPT, f->recipients);
    if (mail->user[0] != '\0') {
        (void)curl_easy_setopt(e, CURLOPT_USERNAME, mail->user);
        (void)curl_easy_setopt(e, CURLOPT_USE_SSL, (long)CURLUSESSL_ALL); /* or it is readable */
        wrong = set_password(e, mail->password_file);
        if (wrong != NULL)
            return wrong;
    }
    (void)curl_easy_setopt(e, CURLOPT_UPLOAD, 1L);
    (void)curl_easy_setopt(e, CURLOPT_READFUNCTION, attempt_read_mail);
    (void)curl_easy_setopt(e, CURLOPT_READDATA, (void *)f);
    return NULL;
}

const char *attempt_prepare(struct attempt *f, const struct attempt_options *options)
{
    f->options = options;
    f->began_us = clock_raw_us();
    f->easy = curl_easy_init();
    if (f->easy == NULL)
        err_die("out of memory");
    set_common(f);
    return is_mail(f) ? prepare_mail(f, &options->mail) : prepare_post(f);
}

/* Gives libcurl the addresses found, so that it does not look the name up again. */
static void pin_addresses(struct attempt *f, const struct addrinfo *found)
{
    char address[INET6_ADDRSTRLEN];
    struct buf entry;

    buf_init(&entry, KIB(8));
    buf_printf(&entry, "+%.*s:%.*s:", STR_ARG(f->endpoint.host), STR_ARG(f->endpoint.port));
    for (const struct addrinfo *a = found; a != NULL && entry.len < KIB(4); a = a->ai_next) {
        if (getnameinfo(a->ai_addr, a->ai_addrlen, address, sizeof(address), NULL, 0,
                        NI_NUMERICHOST) != 0)
            continue;
        buf_printf(&entry, a->ai_family == AF_INET6 ? "%s[%s]" : "%s%s", a == found ? "" : ",",
                   address);
    }
    f->pinned = curl_slist_append(NULL, arena_cstr(&f->arena, buf_str(&entry)));
    buf_done(&entry);
    if (f->pinned == NULL)
        err_die("out of memory");
    (void)curl_easy_setopt(f->easy, CURLOPT_RESOLVE, f->pinned);
}

enum attempt_clearance attempt_clear(struct attempt *f, const char **ret_wrong)
{
    const struct addrinfo *found;
    const char *why = "";

    if (f->lookup == NULL)
        return ATTEMPT_CLEARED;
    if (!lookup_is_done(f->lookup)) {
        *ret_wrong = "looking up the host name timed out";
        return clock_raw_us() - f->began_us > (int64_t)CONNECT_MS * USEC_PER_MSEC ? ATTEMPT_REFUSED
                                                                                  : ATTEMPT_WAITS;
    }
    found = lookup_found(f->lookup, &why);
    (void)snprintf(f->error, sizeof(f->error), "looking up the host name failed: %s", why);
    *ret_wrong = f->error;
    if (found == NULL)
        return ATTEMPT_REFUSED;
    *ret_wrong = not_public;
    for (const struct addrinfo *a = found; a != NULL; a = a->ai_next)
        if (!target_is_public(a->ai_addr))
            return ATTEMPT_REFUSED;
    pin_addresses(f, found);
    f->error[0] = '\0';
    return ATTEMPT_CLEARED;
}

static const char *error_of(struct attempt *f, CURLcode result, long status)
{
    if (f->forbidden)
        return not_public;
    if (status > 0 && !(is_mail(f) && status < 400)) { /* of mail: the last step that went well */
        (void)snprintf(f->error, sizeof(f->error), "the target answered with status %ld", status);
        return f->error;
    }
    return f->error[0] != '\0' ? f->error : curl_easy_strerror(result);
}

/* Of a number of seconds, libcurl 8 may tell six hours at most; of a date it tells the seconds. */
static int64_t retry_after_of(CURL *easy)
{
    struct curl_header *header = NULL;
    curl_off_t told = 0;
    int64_t seconds = 0;

    if (curl_easy_header(easy, "Retry-After", 0, CURLH_HEADER, -1, &header) == CURLHE_OK &&
        str_to_int(str_of(header->value), &seconds) && seconds >= 0)
        return seconds;
    (void)curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &told);
    return (int64_t)told;
}

struct attempt_end attempt_finish(struct attempt *f, CURLcode result)
{
    const bool mail = is_mail(f);
    struct attempt_end end = { .ms = (clock_raw_us() - f->began_us) / USEC_PER_MSEC };
    long status = 0;

    (void)curl_easy_getinfo(f->easy, CURLINFO_RESPONSE_CODE, &status);
    end.status = (struct opt_int){ status > 0, status };
    end.retry_after_s = retry_after_of(f->easy);
    if (mail)
        end.delivered = result == CURLE_OK;
    else /* the status counts even if the body was too long or never ended */
        end.delivered = status >= 200 && status < 300;
    end.gone = end.final = !mail && status == 410;
    end.error = end.delivered ? NULL : error_of(f, result, status);
    return end;
}

void attempt_free(struct attempt *f)
{
    if (f == NULL)
        return;
    for (size_t i = 0; i < f->n_secrets; i++)
        sodium_memzero(f->secrets[i], WEBHOOK_SECRET_LEN);
    curl_easy_cleanup(f->easy);
    curl_slist_free_all(f->headers);
    curl_slist_free_all(f->recipients);
    curl_slist_free_all(f->pinned);
    lookup_free(f->lookup);
    arena_done(&f->arena);
    free(f);
}

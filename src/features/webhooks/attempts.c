/* attempts.c - libcurl transfers: set up, checked, sent in one handle, and their results. */
#include "features/webhooks/attempts.h"

#include <assert.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "features/webhooks/formats.h"
#include "features/webhooks/shapes.h"

static const char not_public[] = "the host name resolves to an address that is not public";

enum { TIMEOUT_MS = 15000, CONNECT_MS = 5000, REPLY_MAX = 64 << 10 };

/* The check that counts: libcurl opens every connection through here, however it resolved the
 * name. While the attempt probes, libcurl gets no connection and so tries all addresses of the
 * name. */
static curl_socket_t attempt_open_socket(void *ctx, curlsocktype purpose,
                                         struct curl_sockaddr *address)
{
    struct attempt *a = ctx;

    (void)purpose;
    a->forbidden |= !a->options->rules.allow_private && !target_is_public(&address->addr);
    a->probed |= a->probes;
    if (a->forbidden || a->probes)
        return CURL_SOCKET_BAD;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* The response is not needed: headers and body are counted, and cut off at REPLY_MAX. */
static size_t attempt_drop_reply(char *bytes, size_t size, size_t n, void *ctx)
{
    struct attempt *a = ctx;

    (void)bytes;
    a->reply_bytes += size * n;
    return a->reply_bytes > REPLY_MAX ? 0 : size * n;
}

static size_t attempt_read_mail(char *to, size_t size, size_t n, void *ctx)
{
    struct attempt *a = ctx;
    size_t left = a->body.len - a->body_sent, room = size * n, part = left < room ? left : room;

    memcpy(to, a->body.data + a->body_sent, part);
    a->body_sent += part;
    return part;
}

static void add_header(struct attempt *a, struct str line)
{
    struct curl_slist *list = curl_slist_append(a->headers, line.data);

    if (list == NULL)
        err_die("out of memory");
    a->headers = list;
}

static void set_common(struct attempt *a)
{
    CURL *e = a->easy;

    (void)curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    /* Otherwise a hanging name server would block the thread until it answers. */
    (void)curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L);
    (void)curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, (long)TIMEOUT_MS);
    (void)curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    (void)curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_easy_setopt(e, CURLOPT_PROXY, "");
    (void)curl_easy_setopt(e, CURLOPT_FORBID_REUSE, 1L);
    (void)curl_easy_setopt(e, CURLOPT_ERRORBUFFER, a->error);
    (void)curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, attempt_drop_reply);
    (void)curl_easy_setopt(e, CURLOPT_WRITEDATA, (void *)a);
    (void)curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, attempt_drop_reply);
    (void)curl_easy_setopt(e, CURLOPT_HEADERDATA, (void *)a);
}

static struct notice notice_for(struct attempt *a)
{
    const struct notice_place place = { a->webhook.workspace, a->options->public_url };

    return notice_of(&a->delivery.message, &place, &a->arena);
}

/* PagerDuty reads its key in the body. */
static const char *url_of(struct attempt *a)
{
    bool keyed = a->webhook.format == WEBHOOK_PAGERDUTY;

    return arena_cstr(&a->arena, keyed ? webhook_url_plain(a->webhook.url) : a->webhook.url);
}

static const char *prepare_post(struct attempt *a)
{
    const char *wrong = target_check_url(a->webhook.url, &a->options->rules);
    int64_t now_s = clock_wall_us() / USEC_PER_SEC;
    struct str secrets[COUNT_OF(a->secrets)], signature;
    const struct notice notice = notice_for(a);
    CURL *e = a->easy;

    if (wrong != NULL)
        return wrong;
    for (size_t i = 0; i < a->n_secrets; i++)
        secrets[i] = str_from(a->secrets[i], WEBHOOK_SECRET_LEN);
    a->body = format_body(&notice, a->webhook.format, a->webhook.url, &a->arena);
    signature = webhook_signature(secrets, a->n_secrets, a->delivery.message.message_id, now_s,
                                  a->body, &a->arena);
    if (str_is_null(signature))
        return "stored webhook secret is malformed";
    add_header(a, STR_LIT("Content-Type: application/json"));
    add_header(a, STR_LIT("Expect:"));
    add_header(
        a, arena_printf(&a->arena, "webhook-id: %.*s", STR_ARG(a->delivery.message.message_id)));
    add_header(a, arena_printf(&a->arena, "webhook-timestamp: %lld", (long long)now_s));
    if (a->n_secrets > 0)
        add_header(a, arena_printf(&a->arena, "webhook-signature: %.*s", STR_ARG(signature)));
    (void)curl_easy_setopt(e, CURLOPT_URL, url_of(a));
    (void)curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    (void)curl_easy_setopt(e, CURLOPT_USERAGENT, "muster");
    (void)curl_easy_setopt(e, CURLOPT_HTTPHEADER, a->headers);
    (void)curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)a->body.len);
    (void)curl_easy_setopt(e, CURLOPT_POSTFIELDS, a->body.data);
    (void)curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, attempt_open_socket);
    (void)curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, (void *)a);
    a->probes = !a->options->rules.allow_private;
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
static struct str mail_recipient(const struct attempt *a)
{
    static const struct str scheme = STR_INIT("mailto:");

    return str_from(a->webhook.url.data + scheme.len, a->webhook.url.len - scheme.len);
}

static struct str mail_body_of(struct attempt *a, struct str from, struct str to)
{
    const struct notice notice = notice_for(a);

    return format_mail(&notice, from, to, &a->arena);
}

static bool is_mail(const struct attempt *a)
{
    return a->letter != NULL || a->webhook.format == WEBHOOK_EMAIL;
}

static const char *prepare_mail(struct attempt *a, const struct mail_options *mail)
{
    const struct str from = str_of(mail->from);
    struct str to;
    const char *wrong;
    CURL *e = a->easy;

    if (mail->url[0] == '\0' || mail->from[0] == '\0')
        return "mail cannot be sent: set smtp_url and smtp_from";
    to = a->letter != NULL ? a->letter->to : mail_recipient(a);
    a->body =
        a->letter != NULL ? format_letter(a->letter, from, &a->arena) : mail_body_of(a, from, to);
    a->recipients = curl_slist_append(NULL, arena_cstr(&a->arena, to));
    if (a->recipients == NULL)
        err_die("out of memory");
    (void)curl_easy_setopt(e, CURLOPT_URL, mail->url);
    (void)curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
    (void)curl_easy_setopt(e, CURLOPT_USE_SSL, (long)CURLUSESSL_TRY);
    (void)curl_easy_setopt(e, CURLOPT_MAIL_FROM, mail->from);
    (void)curl_easy_setopt(e, CURLOPT_MAIL_RCPT, a->recipients);
    if (mail->user[0] != '\0') {
        (void)curl_easy_setopt(e, CURLOPT_USERNAME, mail->user);
        (void)curl_easy_setopt(e, CURLOPT_USE_SSL, (long)CURLUSESSL_ALL); /* or it is readable */
        wrong = set_password(e, mail->password_file);
        if (wrong != NULL)
            return wrong;
    }
    (void)curl_easy_setopt(e, CURLOPT_UPLOAD, 1L);
    (void)curl_easy_setopt(e, CURLOPT_READFUNCTION, attempt_read_mail);
    (void)curl_easy_setopt(e, CURLOPT_READDATA, (void *)a);
    return NULL;
}

const char *attempt_prepare(struct attempt *a, const struct attempt_options *options)
{
    a->options = options;
    a->began_us = clock_raw_us();
    a->easy = curl_easy_init();
    if (a->easy == NULL)
        err_die("out of memory");
    set_common(a);
    return is_mail(a) ? prepare_mail(a, &options->mail) : prepare_post(a);
}

static const char *error_of(struct attempt *a, CURLcode result, long status)
{
    if (a->forbidden)
        return not_public;
    if (status > 0 && !(is_mail(a) && status < 400)) { /* of mail: the last step that went well */
        (void)snprintf(a->error, sizeof(a->error), "the target answered with status %ld", status);
        return a->error;
    }
    return a->error[0] != '\0' ? a->error : curl_easy_strerror(result);
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

static struct attempt_end attempt_finish(struct attempt *a, CURLcode result)
{
    const bool mail = is_mail(a);
    struct attempt_end end = { .ms = (clock_raw_us() - a->began_us) / USEC_PER_MSEC };
    long status = 0;

    (void)curl_easy_getinfo(a->easy, CURLINFO_RESPONSE_CODE, &status);
    end.status = (struct opt_int){ status > 0, status };
    end.retry_after_s = retry_after_of(a->easy);
    if (mail)
        end.delivered = result == CURLE_OK;
    else /* the status counts even if the body was too long or never ended */
        end.delivered = status >= 200 && status < 300;
    end.gone = end.final = !mail && status == 410;
    end.error = end.delivered ? NULL : error_of(a, result, status);
    return end;
}

void attempt_free(struct attempt *a)
{
    if (a == NULL)
        return;
    for (size_t i = 0; i < a->n_secrets; i++)
        sodium_memzero(a->secrets[i], WEBHOOK_SECRET_LEN);
    curl_easy_cleanup(a->easy);
    curl_slist_free_all(a->headers);
    curl_slist_free_all(a->recipients);
    arena_done(&a->arena);
    free(a);
}

void attempts_init(struct attempts *all)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != 0)
        err_die("libcurl cannot be initialized");
    all->multi = curl_multi_init();
    if (all->multi == NULL)
        err_die("out of memory");
    all->first = NULL;
    all->n = 0;
}

void attempts_done(struct attempts *all)
{
    assert(all->first == NULL && all->n == 0);
    (void)curl_multi_cleanup(all->multi);
    curl_global_cleanup();
}

static void add_transfer(struct attempts *all, struct attempt *a)
{
    if (curl_multi_add_handle(all->multi, a->easy) != CURLM_OK)
        err_die("libcurl refused a transfer");
}

void attempts_start(struct attempts *all, struct attempt *a)
{
    const char *wrong = attempt_prepare(a, &all->options);

    assert(thread_may_be("muster-courier"));
    if (wrong != NULL) {
        all->ended(all->ctx, a, &(struct attempt_end){ .error = wrong });
        return;
    }
    a->next = all->first;
    all->first = a;
    all->n += a->owner == NULL;
    add_transfer(all, a);
}

static void detach(struct attempts *all, struct attempt *a)
{
    struct attempt **at = &all->first;

    while (*at != a)
        at = &(*at)->next;
    *at = a->next;
    assert(a->owner != NULL || all->n > 0);
    all->n -= a->owner == NULL;
    (void)curl_multi_remove_handle(all->multi, a->easy);
}

/* All addresses of the name are public: sends it. libcurl still has the addresses (its cache keeps
 * them for a minute). */
static bool is_cleared(struct attempts *all, struct attempt *a)
{
    if (!a->probes || !a->probed || a->forbidden)
        return false;
    a->probes = false;
    a->error[0] = '\0';
    (void)curl_multi_remove_handle(all->multi, a->easy);
    add_transfer(all, a);
    return true;
}

/* True when one has ended. */
static bool take_finished(struct attempts *all)
{
    const CURLMsg *message;
    bool any = false;
    int left;

    while ((message = curl_multi_info_read(all->multi, &left)) != NULL) {
        CURLcode result = message->data.result;
        struct attempt_end end;
        struct attempt *a = all->first;

        while (message->msg == CURLMSG_DONE && a != NULL && a->easy != message->easy_handle)
            a = a->next;
        if (message->msg != CURLMSG_DONE || a == NULL || is_cleared(all, a))
            continue;
        end = attempt_finish(a, result);
        detach(all, a);
        all->ended(all->ctx, a, &end);
        any = true;
    }
    return any;
}

bool attempts_advance(struct attempts *all, int wait_ms)
{
    int running;
    bool any;

    assert(thread_may_be("muster-courier"));
    (void)curl_multi_perform(all->multi, &running);
    any = take_finished(all);
    if (!any)
        (void)curl_multi_poll(all->multi, NULL, 0, wait_ms, NULL);
    return any;
}

void attempts_wake(struct attempts *all)
{
    (void)curl_multi_wakeup(all->multi);
}

struct attempt *attempts_pop(struct attempts *all)
{
    struct attempt *a = all->first;

    if (a != NULL)
        detach(all, a);
    return a;
}

struct attempt *attempts_find(const struct attempts *all, const struct delivery_row *delivery)
{
    struct attempt *a = all->first;

    while (a != NULL && (a->owner != NULL || a->delivery.tenant_id != delivery->tenant_id ||
                         !str_eq(a->delivery.delivery_id, delivery->delivery_id)))
        a = a->next;
    return a;
}

struct attempts_count attempts_count(const struct attempts *all, int64_t tenant_id,
                                     struct str webhook_id)
{
    struct attempts_count count = { 0 };

    for (const struct attempt *a = all->first; a != NULL; a = a->next) {
        if (a->webhook.tenant_id != tenant_id)
            continue;
        count.tests += a->owner != NULL;
        count.of_tenant += a->owner == NULL;
        count.of_webhook += a->owner == NULL && str_eq(a->webhook.webhook_id, webhook_id);
    }
    return count;
}

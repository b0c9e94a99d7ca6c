/* fetch.c - a request by libcurl. */
#include "features/oidc/fetch.h"

#include <curl/curl.h>

static bool is_loopback(struct str host)
{
    static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (str_eq_c(host, names[i]))
            return true;
    return false;
}

/* A name before the host, which looks like the host: http://localhost:x@example.com/ */
static bool has_user(struct str rest)
{
    for (size_t i = 0; i < rest.len && rest.data[i] != '/' && rest.data[i] != '?'; i++)
        if (rest.data[i] == '@')
            return true;
    return false;
}

bool fetch_is_allowed(struct str url)
{
    static const struct str tls = STR_INIT("https://"), plain = STR_INIT("http://");
    struct str host, rest;

    for (size_t i = 0; i < url.len; i++)
        if (url.data[i] <= ' ' || url.data[i] > '~' || url.data[i] == '#')
            return false;
    if (str_starts(url, tls))
        return url.len > tls.len && !has_user(str_from(url.data + tls.len, url.len - tls.len));
    if (!str_starts(url, plain))
        return false;
    rest = str_from(url.data + plain.len, url.len - plain.len);
    if (has_user(rest))
        return false;
    host = str_split(&rest, '/');
    if (str_starts(host, STR_LIT("[")))
        return str_starts(host, STR_LIT("[::1]")) && (host.len == 5 || host.data[5] == ':');
    return is_loopback(str_split(&host, ':'));
}

static size_t fetch_take(char *bytes, size_t size, size_t n, void *ctx)
{
    struct buf *body = ctx;

    buf_add(body, str_from(bytes, size * n));
    return body->overflown ? 0 : size * n;
}

static int fetch_go_on(void *ctx, curl_off_t total, curl_off_t now, curl_off_t up_total,
                       curl_off_t up)
{
    const struct fetch *fetch = ctx;

    (void)total;
    (void)now;
    (void)up_total;
    (void)up;
    return fetch->cancel != NULL && atomic_load(fetch->cancel) ? 1 : 0;
}

static void set_bounds(CURL *e, const struct fetch *fetch)
{
    (void)curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L); /* of a hanging name server */
    (void)curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, (long)FETCH_TIMEOUT_MS);
    (void)curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)FETCH_CONNECT_MS);
    (void)curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(e, CURLOPT_PROXY, "");
    (void)curl_easy_setopt(e, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    (void)curl_easy_setopt(e, CURLOPT_USERAGENT, "muster");
    (void)curl_easy_setopt(e, CURLOPT_NOPROGRESS, 0L);
    (void)curl_easy_setopt(e, CURLOPT_XFERINFOFUNCTION, fetch_go_on);
    (void)curl_easy_setopt(e, CURLOPT_XFERINFODATA, (const void *)fetch);
}

static void set_request(CURL *e, const struct fetch *fetch)
{
    (void)curl_easy_setopt(e, CURLOPT_URL, fetch->url);
    if (fetch->form != NULL)
        (void)curl_easy_setopt(e, CURLOPT_POSTFIELDS, fetch->form);
    if (fetch->user != NULL) {
        (void)curl_easy_setopt(e, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        (void)curl_easy_setopt(e, CURLOPT_USERNAME, fetch->user);
        (void)curl_easy_setopt(e, CURLOPT_PASSWORD, fetch->password);
    }
    if (fetch->bearer != NULL) {
        (void)curl_easy_setopt(e, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
        (void)curl_easy_setopt(e, CURLOPT_XOAUTH2_BEARER, fetch->bearer);
    }
}

int fetch_run(const struct fetch *fetch, struct buf *ret, int *ret_status, struct error *err)
{
    struct curl_slist *headers = curl_slist_append(NULL, "Accept: application/json");
    char why[CURL_ERROR_SIZE] = "";
    CURL *e = curl_easy_init();
    long status = 0;
    CURLcode code;

    if (e == NULL || headers == NULL)
        err_die("out of memory (libcurl)");
    set_bounds(e, fetch);
    set_request(e, fetch);
    (void)curl_easy_setopt(e, CURLOPT_HTTPHEADER, headers);
    (void)curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, fetch_take);
    (void)curl_easy_setopt(e, CURLOPT_WRITEDATA, (void *)ret);
    (void)curl_easy_setopt(e, CURLOPT_ERRORBUFFER, why);
    code = curl_easy_perform(e);
    (void)curl_easy_getinfo(e, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_cleanup(e);
    curl_slist_free_all(headers);
    *ret_status = (int)status;
    if (code == CURLE_OK)
        return 0;
    return err_set(err, ERR_UNAVAILABLE, "%s: %s", fetch->url,
                   ret->overflown ? "the answer is too large"
                                  : (why[0] != '\0' ? why : curl_easy_strerror(code)));
}

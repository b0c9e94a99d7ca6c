/* remote.c - one HTTP request over a unix socket or the network, by libcurl; and the service that
 * the settings name, with its token. */
#include <assert.h>
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/route.h"
#include "base/buf.h"
#include "cli/client.h"
#include "cli/settings.h"

enum { TOKEN_FILE_MAX = 1024 };

/* "http://localhost:8080": the token stays on this machine. */
static bool is_on_this_machine(struct str host)
{
    static const struct str names[] = { STR_INIT("localhost"), STR_INIT("127.0.0.1"),
                                        STR_INIT("[::1]") };

    assert(host.data != NULL);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (str_starts(host, names[i]) &&
            (host.len == names[i].len || host.data[names[i].len] == ':'))
            return true;
    return false;
}

static int check_url(struct str url, struct error *err)
{
    static const struct str tls = STR_INIT("https://"), plain = STR_INIT("http://");
    const struct str *scheme = str_starts(url, tls) ? &tls : &plain;
    struct str host;

    if (!str_starts(url, *scheme))
        return err_set(err, ERR_INVALID,
                       "server: '%.*s' is not a URL such as https://muster.example.com",
                       STR_ARG(url));
    host = str_from(url.data + scheme->len, url.len - scheme->len);
    if (!url_is_host(host))
        return err_set(err, ERR_INVALID,
                       "server: '%.*s' has more or less than a host and a port: give a URL such as "
                       "https://muster.example.com:8443",
                       STR_ARG(url));
    if (scheme == &plain && !is_on_this_machine(host))
        return err_set(err, ERR_INVALID,
                       "server: '%.*s' would send the token without TLS: use https://",
                       STR_ARG(url));
    return 0;
}

static int read_token(const char *path, struct arena *arena, struct str *ret, struct error *err)
{
    char *bytes = arena_alloc(arena, TOKEN_FILE_MAX);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    ssize_t n;

    if (fd < 0)
        return err_set(err, ERR_INVALID, "token_file: cannot read '%s': %s", path, strerror(errno));
    n = fstat(fd, &st) == 0 ? read(fd, bytes, TOKEN_FILE_MAX) : -1;
    (void)close(fd);
    if (n < 0 || n == TOKEN_FILE_MAX)
        return err_set(err, ERR_INVALID, "token_file: '%s' does not hold a token", path);
    if ((st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return err_set(err, ERR_INVALID,
                       "token_file: other users may read '%s': make it yours alone, chmod 600",
                       path);
    while (n > 0 && (bytes[n - 1] == '\n' || bytes[n - 1] == '\r'))
        n--;
    *ret = str_trim(str_from(bytes, (size_t)n));
    for (size_t i = 0; i < ret->len; i++)
        if (ret->data[i] <= ' ' || ret->data[i] >= 0x7f)
            return err_set(err, ERR_INVALID, "token_file: '%s' does not hold a token", path);
    if (ret->len == 0)
        return err_set(err, ERR_INVALID, "token_file: '%s' is empty", path);
    return 0;
}

int remote_url(struct str url, struct arena *arena, const char **ret, struct error *err)
{
    if (url.len > 0 && url.data[url.len - 1] == '/')
        url.len--;
    if (check_url(url, err) != 0)
        return -1;
    *ret = arena_cstr(arena, url);
    return 0;
}

int remote_read(const struct settings *settings, struct arena *arena, struct remote *ret,
                struct error *err)
{
    *ret = (struct remote){ .ca = settings->server_ca[0] == '\0' ? NULL : settings->server_ca };
    if (remote_url(str_of(settings->server), arena, &ret->server, err) != 0)
        return -1;
    if (settings->token_file[0] == '\0')
        return err_set(err, ERR_INVALID,
                       "--server needs a personal access token: sign in with `muster login`, or "
                       "name a file that holds one with --token-file");
    return read_token(settings->token_file, arena, &ret->bearer_token, err);
}

enum { TIMEOUT_S = 60 };

struct answer {
    CURL *curl;
    struct arena *arena;
    char problem[CURL_ERROR_SIZE]; /* libcurl's own words */
    struct str cookie;
    const struct client_sink *sink; /* NULL: none */
    struct buf body;                /* without a sink, or of an error */
};

static size_t remote_take(char *bytes, size_t size, size_t n, void *ctx)
{
    struct answer *answer = ctx;
    struct str taken = str_from(bytes, size * n);
    long status = 0;

    curl_easy_getinfo(answer->curl, CURLINFO_RESPONSE_CODE, &status);
    if (answer->sink != NULL && status >= 200 && status < 300)
        return answer->sink->take(answer->sink->ctx, taken) ? taken.len : 0;
    buf_add(&answer->body, taken);
    return answer->body.overflown ? 0 : taken.len;
}

/* Keeps "name=value" of a cookie that is set. */
static size_t remote_take_header(char *bytes, size_t size, size_t n, void *ctx)
{
    struct answer *answer = ctx;
    struct str value = str_from(bytes, size * n), name = str_split(&value, ':');

    if (str_eq_nocase(name, STR_LIT("set-cookie")))
        answer->cookie = arena_copy(answer->arena, str_trim(str_split(&value, ';')));
    return size * n;
}

static void set_target(CURL *curl, const struct remote *to)
{
    if (to->socket != NULL)
        curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, to->socket);
    /* Without TLS it is this machine, and a proxy would read the token. */
    if (to->socket != NULL || !str_starts(str_of(to->server), STR_LIT("https://")))
        curl_easy_setopt(curl, CURLOPT_PROXY, "");
    if (to->ca != NULL) { /* it alone, without the system's */
        curl_easy_setopt(curl, CURLOPT_CAINFO, to->ca);
        curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
    }
    curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
}

static struct curl_slist *add_header(struct curl_slist *headers, const char *name, struct str value,
                                     struct arena *arena)
{
    if (headers == NULL || str_is_null(value))
        return headers;
    return curl_slist_append(headers, arena_printf(arena, "%s%.*s", name, STR_ARG(value)).data);
}

static struct curl_slist *make_headers(const struct remote *to, struct arena *arena)
{
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");

    headers = add_header(headers, "Authorization: Bearer ", to->bearer_token, arena);
    headers = add_header(headers, "Cookie: ", to->cookie, arena);
    return add_header(headers, "X-CSRF-Token: ", to->csrf_token, arena);
}

static void set_request(CURL *curl, const char *url, const struct client_request *request)
{
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L); /* an agent may be named ".." */
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, route_method_name(request->method));
    if (request->body.len > 0) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.len);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body.data);
    }
}

/* OpenSSL's numbers, which libcurl hands on. It compares names last, when the chain is in order,
 * and depending on its version has then taken over OpenSSL's verdict or still has its own first
 * value. */
enum { CERT_IN_ORDER = 0, CERT_WITHOUT_VERDICT = 1, CERT_NOT_YET_VALID = 9, CERT_EXPIRED = 10 };

static int refuse_certificate(const struct remote *to, const struct answer *answer,
                              struct error *err)
{
    long verdict = CERT_IN_ORDER;

    curl_easy_getinfo(answer->curl, CURLINFO_SSL_VERIFYRESULT, &verdict);
    if (verdict == CERT_IN_ORDER || verdict == CERT_WITHOUT_VERDICT)
        return err_set(err, ERR_FORBIDDEN,
                       "the certificate of '%s' is not for that name; use one that it has (%s)",
                       to->server, answer->problem);
    if (verdict == CERT_NOT_YET_VALID || verdict == CERT_EXPIRED)
        return err_set(err, ERR_FORBIDDEN,
                       "the certificate of '%s' is not valid now; have it renewed, or check the "
                       "clock of this machine (%s)",
                       to->server, answer->problem);
    return err_set(err, ERR_FORBIDDEN,
                   "the certificate of '%s' is not trusted here; give the one of its authority "
                   "with --server-ca FILE (%s)",
                   to->server, answer->problem);
}

/* What went wrong, and what would be right. */
static int refuse_answer(const struct remote *to, const struct answer *answer, CURLcode code,
                         struct error *err)
{
    const bool is_tls = str_starts(str_of(to->server), STR_LIT("https://"));
    const char *words = answer->problem[0] != '\0' ? answer->problem : curl_easy_strerror(code);

    if (is_tls && code == CURLE_PEER_FAILED_VERIFICATION)
        return refuse_certificate(to, answer, err);
    if (is_tls && code == CURLE_SSL_CACERT_BADFILE)
        return err_set(err, ERR_FORBIDDEN,
                       "server_ca: '%s' is not a file of certificates (PEM): %s",
                       to->ca != NULL ? to->ca : "", words);
    if (is_tls && code == CURLE_SSL_CONNECT_ERROR)
        return err_set(err, ERR_FORBIDDEN,
                       "the server at '%s' did not answer with TLS; a service without TLS is "
                       "reached with http://, on its own machine (%s)",
                       to->server, words);
    if (to->socket == NULL && !is_tls &&
        (code == CURLE_GOT_NOTHING || code == CURLE_RECV_ERROR ||
         code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_WEIRD_SERVER_REPLY))
        return err_set(err, ERR_FORBIDDEN,
                       "the server at '%s' did not answer with HTTP; if it speaks TLS, use "
                       "https:// (%s)",
                       to->server, words);
    return err_set(err, code == CURLE_COULDNT_CONNECT ? ERR_UNAVAILABLE : ERR_INTERNAL,
                   "the server at '%s' did not answer: %s",
                   to->socket != NULL ? to->socket : to->server, curl_easy_strerror(code));
}

int remote_call(const struct remote *to, const struct client_request *request,
                const struct client_sink *sink, struct arena *arena, struct client_reply *ret,
                struct error *err)
{
    struct str url = arena_printf(arena, "%s%.*s", to->server, STR_ARG(request->path));
    struct curl_slist *headers = make_headers(to, arena);
    CURL *curl = curl_easy_init();
    struct answer answer = { .curl = curl, .arena = arena, .cookie = STR_NULL, .sink = sink };
    long status = 0;
    CURLcode code;

    buf_init(&answer.body, MIB(256));
    if (curl == NULL || headers == NULL)
        err_die("out of memory (libcurl)");
    set_target(curl, to);
    set_request(curl, url.data, request);
    /* a streamed reply has no deadline, but it must not stall */
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, sink != NULL ? 0L : (long)TIMEOUT_S);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)TIMEOUT_S);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, remote_take);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, remote_take_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &answer);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, answer.problem);
    code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    ret->status = (int)status;
    ret->cookie = answer.cookie;
    ret->body = buf_take(&answer.body, arena);
    if (code != CURLE_OK)
        (void)refuse_answer(to, &answer, code, err);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    return code == CURLE_OK ? 0 : -1;
}

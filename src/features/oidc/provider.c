/* provider.c - discovery, keys, and the token endpoint. */
#include "features/oidc/oidc.h"

#include <curl/curl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <yyjson.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "features/metrics.h"

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

/* Appends the body to `ret`. Redirects are not followed. ERR_UNAVAILABLE: there was no whole
 * answer.
 */
static int fetch_run(const struct fetch *fetch, struct buf *ret, int *ret_status, struct error *err)
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

enum {
    FRESH_S = 3600,
    KEYS_PERIOD_S = 10, /* between two fetches of keys for tokens that none of them signed */
    FAILURE_S = 5,
    SECRET_MAX = 1024,
};

struct provider {
    struct provider_options options;
    struct lock lock;                    /* one fetch at a time: the others need what it brings */
    struct arena arena GUARDED_BY(lock); /* of the metadata */
    struct metadata metadata GUARDED_BY(lock);
    struct jwks *keys GUARDED_BY(lock); /* NULL: nothing was fetched yet */
    int64_t fetched_us GUARDED_BY(lock), keys_us GUARDED_BY(lock), failed_us GUARDED_BY(lock);
    bool failed GUARDED_BY(lock);
    struct error failure GUARDED_BY(lock);
};

static struct str text_of(yyjson_val *value)
{
    return yyjson_is_str(value) ? str_from(yyjson_get_str(value), yyjson_get_len(value)) : STR_NULL;
}

static int read_endpoint(yyjson_val *root, const char *name, struct arena *arena, struct str *ret,
                         struct error *err)
{
    *ret = arena_copy(arena, text_of(yyjson_obj_get(root, name)));
    if (str_is_null(*ret))
        return err_set(err, ERR_INVALID, "its discovery document has no %s", name);
    if (!fetch_is_allowed(*ret))
        return err_set(err, ERR_INVALID, "its %s is not an https:// URL", name);
    return 0;
}

static int read_optional(yyjson_val *root, const char *name, struct arena *arena, struct str *ret,
                         struct error *err)
{
    *ret = STR_NULL;
    return yyjson_obj_get(root, name) == NULL ? 0 : read_endpoint(root, name, arena, ret, err);
}

/* A provider that publishes no list of methods supports Basic. */
static bool knows_basic(yyjson_val *methods)
{
    yyjson_arr_iter each;
    yyjson_val *one;

    if (!yyjson_arr_iter_init(methods, &each))
        return true;
    while ((one = yyjson_arr_iter_next(&each)) != NULL)
        if (str_eq_c(text_of(one), "client_secret_basic"))
            return true;
    return false;
}

static int read_root(yyjson_val *root, const char *issuer, struct arena *arena,
                     struct metadata *ret, struct error *err)
{
    if (!yyjson_is_obj(root))
        return err_set(err, ERR_INVALID, "its discovery document is not a JSON object");
    if (!str_eq_c(text_of(yyjson_obj_get(root, "issuer")), issuer))
        return err_set(err, ERR_INVALID,
                       "its discovery document names another issuer: oidc_issuer must be the same "
                       "to the letter");
    if (read_endpoint(root, "authorization_endpoint", arena, &ret->authorization_endpoint, err) !=
            0 ||
        read_endpoint(root, "token_endpoint", arena, &ret->token_endpoint, err) != 0 ||
        read_endpoint(root, "jwks_uri", arena, &ret->jwks_uri, err) != 0)
        return -1;
    ret->secret_in_body =
        !knows_basic(yyjson_obj_get(root, "token_endpoint_auth_methods_supported"));
    if (read_optional(root, "userinfo_endpoint", arena, &ret->userinfo_endpoint, err) != 0)
        return -1;
    return read_optional(root, "end_session_endpoint", arena, &ret->end_session_endpoint, err);
}

int metadata_read(struct str json, const char *issuer, struct arena *arena, struct metadata *ret,
                  struct error *err)
{
    yyjson_doc *doc = yyjson_read(json.data, json.len, YYJSON_READ_NOFLAG);
    int r = read_root(yyjson_doc_get_root(doc), issuer, arena, ret, err);

    yyjson_doc_free(doc);
    return r;
}

static void derive_text(const char *purpose, struct str secret, char ret[BASE64URL_LEN + 1])
{
    char text[32 + BASE64URL_LEN + 1];
    const int n =
        snprintf(text, sizeof(text), "muster oidc %s:%.*s", purpose, BASE64URL_LEN, secret.data);
    const struct sha256 digest = digest_sha256(str_from(text, (size_t)n));

    digest_base64url(digest.bytes, ret);
}

void flow_of(struct str secret, struct flow *ret)
{
    struct sha256 challenge;

    ASSERT_ALWAYS(secret.len == BASE64URL_LEN);
    derive_text("state", secret, ret->state);
    derive_text("nonce", secret, ret->nonce);
    derive_text("verifier", secret, ret->verifier);
    challenge = digest_sha256(str_of(ret->verifier));
    digest_base64url(challenge.bytes, ret->challenge);
}

struct provider *provider_new(const struct provider_options *options)
{
    struct provider *p = NEW(struct provider);

    p->options = *options;
    lock_init(&p->lock);
    arena_init(&p->arena);
    return p;
}

void provider_free(struct provider *p)
{
    if (p == NULL)
        return;
    lock_unshared(&p->lock);
    jwks_free(p->keys);
    arena_done(&p->arena);
    lock_done(&p->lock);
    free(p);
}

/* The answer to a GET, which must be 200; the caller frees *ret, also after a failure. */
static int get(const struct provider *p, const char *url, struct buf *ret, struct error *err)
{
    const struct fetch fetch = { .url = url, .cancel = p->options.cancel };
    int status;

    buf_init(ret, FETCH_REPLY_MAX);
    if (fetch_run(&fetch, ret, &status, err) != 0)
        return -1;
    return status == 200 ? 0
                         : err_set(err, ERR_UNAVAILABLE, "%s answered with status %d", url, status);
}

static int fetch_metadata(struct provider *p, struct arena *arena, struct metadata *ret,
                          struct error *err)
{
    const struct str issuer = str_of(p->options.issuer);
    const size_t len = issuer.data[issuer.len - 1] == '/' ? issuer.len - 1 : issuer.len;
    const struct str url =
        arena_printf(arena, "%.*s/.well-known/openid-configuration", (int)len, issuer.data);
    struct buf body;
    int r = get(p, url.data, &body, err);

    if (r == 0)
        r = metadata_read(buf_str(&body), p->options.issuer, arena, ret, err);
    buf_done(&body);
    return r;
}

static int fetch_keys(struct provider *p, struct str url, struct error *err) REQUIRES(p->lock)
{
    struct jwks *keys = NULL;
    struct buf body;
    int r = get(p, url.data, &body, err);

    if (r == 0)
        r = jwks_read(buf_str(&body), &keys, err);
    buf_done(&body);
    if (r != 0)
        return -1;
    jwks_free(p->keys);
    p->keys = keys;
    p->keys_us = clock_mono_us();
    return 0;
}

/* Endpoints and keys, both or nothing. */
static int fetch_all(struct provider *p, struct error *err) REQUIRES(p->lock)
{
    struct metadata metadata;
    struct arena arena;

    arena_init(&arena);
    if (fetch_metadata(p, &arena, &metadata, err) != 0 ||
        fetch_keys(p, metadata.jwks_uri, err) != 0) {
        arena_done(&arena);
        return -1;
    }
    arena_done(&p->arena);
    p->arena = arena;
    p->metadata = metadata;
    p->fetched_us = clock_mono_us();
    return 0;
}

/* Counts what is the provider's fault, or that of the settings. */
static int count_fault(int r, const struct error *err)
{
    if (r != 0)
        metric_add(err->code == ERR_UNAVAILABLE ? METRIC_OIDC_UNAVAILABLE : METRIC_OIDC_INVALID, 1);
    return r;
}

static bool is_older(int64_t at_us, int64_t seconds)
{
    return clock_mono_us() - at_us >= seconds * USEC_PER_SEC;
}

/* Fetches what is missing or old. What is old is used on while the provider cannot be reached. */
static int refresh(struct provider *p, struct error *err) REQUIRES(p->lock)
{
    if (p->keys != NULL && !is_older(p->fetched_us, FRESH_S))
        return 0;
    if (!p->failed || is_older(p->failed_us, FAILURE_S)) {
        p->failure = (struct error){ 0 };
        p->failed = count_fault(fetch_all(p, &p->failure), &p->failure) != 0;
        p->failed_us = clock_mono_us();
        if (p->failed)
            log_write(LOG_WARNING, "oidc", "the identity provider is of no use: %s",
                      p->failure.text);
    }
    if (p->keys != NULL)
        return 0;
    return err_set(err, ERR_UNAVAILABLE, "%s", p->failure.text);
}

/* A copy of what it says about itself. */
static int know(struct provider *p, struct arena *arena, struct metadata *ret, struct error *err)
{
    int r;

    lock_acquire(&p->lock);
    r = refresh(p, err);
    if (r == 0)
        *ret = (struct metadata){
            .authorization_endpoint = arena_copy(arena, p->metadata.authorization_endpoint),
            .token_endpoint = arena_copy(arena, p->metadata.token_endpoint),
            .userinfo_endpoint = arena_copy(arena, p->metadata.userinfo_endpoint),
            .end_session_endpoint = arena_copy(arena, p->metadata.end_session_endpoint),
            .secret_in_body = p->metadata.secret_in_body,
        };
    lock_release(&p->lock);
    return r;
}

int provider_sign_in_url(struct provider *p, const struct flow *flow, struct arena *arena,
                         struct str *ret, struct error *err)
{
    const struct provider_options *o = &p->options;
    struct metadata metadata;
    struct str endpoint, client_id, redirect, scopes;
    bool has_query;

    if (know(p, arena, &metadata, err) != 0)
        return -1;
    endpoint = metadata.authorization_endpoint;
    has_query = memchr(endpoint.data, '?', endpoint.len) != NULL;
    client_id = buf_percent(str_of(o->client_id), arena);
    redirect = buf_percent(o->redirect_uri, arena);
    scopes = buf_percent(str_of(o->scopes), arena);
    *ret =
        arena_printf(arena,
                     "%.*s%cresponse_type=code&client_id=%.*s&redirect_uri=%.*s&scope=%.*s"
                     "&state=%s&nonce=%s&code_challenge=%s&code_challenge_method=S256",
                     STR_ARG(endpoint), has_query ? '&' : '?', STR_ARG(client_id),
                     STR_ARG(redirect), STR_ARG(scopes), flow->state, flow->nonce, flow->challenge);
    return 0;
}

int provider_sign_out_url(struct provider *p, struct str id_token, struct arena *arena,
                          struct str *ret, struct error *err)
{
    struct metadata metadata;
    struct str endpoint, client_id;

    *ret = STR_NULL;
    if (know(p, arena, &metadata, err) != 0)
        return -1;
    endpoint = metadata.end_session_endpoint;
    if (str_is_null(endpoint))
        return 0;
    client_id = buf_percent(str_of(p->options.client_id), arena);
    id_token = buf_percent(id_token, arena);
    *ret = arena_printf(arena, "%.*s%cclient_id=%.*s&id_token_hint=%.*s", STR_ARG(endpoint),
                        memchr(endpoint.data, '?', endpoint.len) != NULL ? '&' : '?',
                        STR_ARG(client_id), STR_ARG(id_token));
    return 0;
}

/* Read for each sign-in, so that it can be replaced while the service runs; the caller wipes it. */
static int read_secret(const char *path, char ret[SECRET_MAX], struct error *err)
{
    FILE *file = fopen(path, "re");
    bool read = false;

    if (file != NULL) {
        read = fgets(ret, SECRET_MAX, file) != NULL;
        (void)fclose(file);
    }
    if (!read)
        return err_set(err, ERR_UNAVAILABLE, "oidc_client_secret_file cannot be read, or is empty");
    ret[strcspn(ret, "\r\n")] = '\0';
    return 0;
}

struct tokens {
    struct str id_token, access_token; /* STR_NULL */
};

/* A word of a provider's error, safe to show. */
static struct str error_word(yyjson_val *root, struct arena *arena)
{
    const char *word = yyjson_get_str(yyjson_obj_get(root, "error"));

    if (word == NULL || word[0] == '\0' || strlen(word) > 64 ||
        strspn(word, "abcdefghijklmnopqrstuvwxyz_") != strlen(word))
        return STR_LIT("no reason given");
    return arena_copy(arena, str_of(word));
}

static int read_tokens(struct str json, int status, struct arena *arena, struct tokens *ret,
                       struct error *err)
{
    yyjson_doc *doc = yyjson_read(json.data, json.len, YYJSON_READ_NOFLAG);
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *access = yyjson_get_str(yyjson_obj_get(root, "access_token"));
    const char *id = yyjson_get_str(yyjson_obj_get(root, "id_token"));
    const struct str word = error_word(root, arena);
    int r = 0;

    ret->id_token = arena_copy(arena, str_of(id));
    ret->access_token = arena_copy(arena, str_of(access));
    if (status >= 500 || status == 429)
        r = err_set(err, ERR_UNAVAILABLE, "its token endpoint answered with status %d", status);
    else if (status != 200) /* all but a wrong code is the provider's fault, or the settings' */
        r = err_set(err, str_eq_c(word, "invalid_grant") ? ERR_INVALID : ERR_FORBIDDEN,
                    "the provider refused the sign-in (%.*s)", STR_ARG(word));
    else if (str_is_null(ret->id_token))
        r = err_set(err, ERR_FORBIDDEN, "the provider sent no ID token");
    yyjson_doc_free(doc);
    return r;
}

/* One exchange of a code. */
struct redemption {
    struct provider *p;
    struct metadata metadata;
    struct str code;
    const struct flow *flow;
    struct arena *arena;
};

/* The form of a token request, with the secret if the endpoint wants it there. */
static struct str token_form(const struct redemption *x, struct str secret)
{
    const struct provider_options *o = &x->p->options;
    const struct str code = buf_percent(x->code, x->arena),
                     client_id = buf_percent(str_of(o->client_id), x->arena),
                     redirect = buf_percent(o->redirect_uri, x->arena),
                     encoded = buf_percent(secret, x->arena);

    return arena_printf(x->arena,
                        "grant_type=authorization_code&code=%.*s&redirect_uri=%.*s&client_id=%.*s"
                        "&code_verifier=%s%s%.*s",
                        STR_ARG(code), STR_ARG(redirect), STR_ARG(client_id), x->flow->verifier,
                        secret.len > 0 ? "&client_secret=" : "", STR_ARG(encoded));
}

static int ask_tokens(const struct redemption *x, struct tokens *ret, struct error *err)
{
    const struct provider *p = x->p;
    const bool has_secret = p->options.secret_file[0] != '\0';
    struct fetch fetch = { .url = x->metadata.token_endpoint.data, .cancel = p->options.cancel };
    char secret[SECRET_MAX] = "";
    BUF_SCOPED(body, FETCH_REPLY_MAX);
    int status = 0, r;

    if (has_secret && read_secret(p->options.secret_file, secret, err) != 0)
        return -1;
    fetch.form = token_form(x, x->metadata.secret_in_body ? str_of(secret) : STR_NULL).data;
    if (has_secret && !x->metadata.secret_in_body) {
        fetch.user = buf_percent(str_of(p->options.client_id), x->arena).data;
        fetch.password = buf_percent(str_of(secret), x->arena).data;
    }
    r = fetch_run(&fetch, &body, &status, err);
    if (r == 0)
        r = read_tokens(buf_str(&body), status, x->arena, ret, err);
    sodium_memzero(secret, sizeof(secret));
    return r;
}

/* Fetches the keys once more if none that is known signed the token: they may have been rotated,
 * also under the same id. */
static int check_token(const struct redemption *x, struct str token, struct id_claims *ret,
                       struct error *err)
{
    struct provider *p = x->p;
    const struct id_token_rules rules = { .issuer = str_of(p->options.issuer),
                                          .client_id = str_of(p->options.client_id),
                                          .nonce = str_of(x->flow->nonce),
                                          .groups_claim = p->options.groups_claim,
                                          .now_s = clock_wall_us() / USEC_PER_SEC };
    struct error problem = { 0 };
    int r;

    lock_acquire(&p->lock);
    r = id_token_read(token, p->keys, &rules, x->arena, ret, &problem);
    if (r != 0 && problem.code == ERR_NOT_FOUND && is_older(p->keys_us, KEYS_PERIOD_S)) {
        p->keys_us = clock_mono_us(); /* also when it fails: not again at once */
        if (fetch_keys(p, p->metadata.jwks_uri, &problem) == 0)
            r = id_token_read(token, p->keys, &rules, x->arena, ret, &problem);
    }
    lock_release(&p->lock);
    if (r == 0)
        return 0;
    return err_set(err, problem.code == ERR_UNAVAILABLE ? ERR_UNAVAILABLE : ERR_FORBIDDEN, "%s",
                   problem.text);
}

/* Some providers have e-mail address and groups only there. */
static int ask_user_info(const struct redemption *x, const struct tokens *tokens,
                         struct id_claims *claims, struct error *err)
{
    const struct fetch fetch = { .url = x->metadata.userinfo_endpoint.data,
                                 .bearer = tokens->access_token.data,
                                 .cancel = x->p->options.cancel };
    BUF_SCOPED(body, FETCH_REPLY_MAX);
    int status, r;

    if (str_is_null(x->metadata.userinfo_endpoint) || str_is_null(tokens->access_token))
        return 0;
    r = fetch_run(&fetch, &body, &status, err);
    if (r == 0 && status != 200)
        r = err_set(err, ERR_UNAVAILABLE, "its UserInfo endpoint answered with status %d", status);
    if (r == 0)
        r = id_claims_add(buf_str(&body), x->p->options.groups_claim, x->arena, claims, err);
    return r;
}

int provider_redeem(struct provider *p, struct str code, const struct flow *flow,
                    struct arena *arena, struct id_claims *ret, struct error *err)
{
    struct redemption x = { .p = p, .code = code, .flow = flow, .arena = arena };
    struct tokens tokens = { 0 };

    if (know(p, arena, &x.metadata, err) != 0)
        return -1;
    if (ask_tokens(&x, &tokens, err) != 0) /* a wrong code is the fault of the one who sent it */
        return err->code == ERR_INVALID ? -1 : count_fault(-1, err);
    if (count_fault(check_token(&x, tokens.id_token, ret, err), err) != 0)
        return -1;
    ret->token = tokens.id_token;
    if (!str_is_null(ret->email) && ret->has_groups)
        return 0;
    return count_fault(ask_user_info(&x, &tokens, ret, err), err);
}

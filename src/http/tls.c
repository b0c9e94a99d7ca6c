/* tls.c - reads certificates and keys; hands out sessions. */
#include "http/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"

enum { PEM_MAX = 1 << 20 };

struct http_tls {
    char *cert_path, *key_path;
    struct lock lock;
    SSL_CTX *context GUARDED_BY(lock);
    int64_t expires_s GUARDED_BY(lock);
};

/* What OpenSSL says of the last failure, without its codes. */
static const char *reason(void)
{
    const char *text = ERR_reason_error_string(ERR_peek_last_error());

    return text == NULL ? "no certificate or key in it" : text;
}

/* The file as a BIO, so that "cannot read" and "is not PEM" are told apart. */
static BIO *open_pem(const char *setting, const char *path, bool secret, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    BIO *bio;

    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > PEM_MAX) {
        (void)err_set(err, ERR_INVALID, "%s: cannot read '%s': %s", setting, path,
                      fd < 0 ? strerror(errno) : "it is not a file of at most 1 MiB");
        if (fd >= 0)
            (void)close(fd);
        return NULL;
    }
    if (secret && (st.st_mode & (S_IROTH | S_IWOTH)) != 0)
        log_write(LOG_WARNING, "tls", "every user can read the private key in '%s': chmod 600 it",
                  path);
    bio = BIO_new_fd(fd, BIO_CLOSE);
    if (bio == NULL)
        (void)close(fd);
    return bio;
}

/* Refuses a key with a passphrase: a service cannot ask for it. */
static int no_passphrase(char *into, int size, int writing, void *ctx)
{
    (void)into;
    (void)size;
    (void)writing;
    *(bool *)ctx = true;
    return -1;
}

static int use_certificate(SSL_CTX *context, const char *path, struct error *err)
{
    BIO *bio = open_pem("tls_cert", path, false, err);
    X509 *cert, *next;
    int r = -1;

    if (bio == NULL)
        return -1;
    ERR_clear_error();
    cert = PEM_read_bio_X509_AUX(bio, NULL, NULL, NULL);
    if (cert == NULL || SSL_CTX_use_certificate(context, cert) != 1) {
        (void)err_set(err, ERR_INVALID, "tls_cert: '%s' has no usable PEM certificate: %s", path,
                      reason());
        goto out;
    }
    while ((next = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL) {
        if (SSL_CTX_add0_chain_cert(context, next) != 1) {
            X509_free(next);
            (void)err_set(err, ERR_INVALID, "tls_cert: the chain in '%s' is not usable: %s", path,
                          reason());
            goto out;
        }
    }
    if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) { /* not the end of file */
        (void)err_set(err, ERR_INVALID, "tls_cert: the chain in '%s' is damaged: %s", path,
                      reason());
        goto out;
    }
    r = 0;
out:
    ERR_clear_error();
    X509_free(cert);
    BIO_free(bio);
    return r;
}

static int use_key(SSL_CTX *context, const char *path, const char *cert_path, struct error *err)
{
    BIO *bio = open_pem("tls_key", path, true, err);
    bool asked = false;
    EVP_PKEY *key;
    int r = -1;

    if (bio == NULL)
        return -1;
    ERR_clear_error();
    key = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, &asked);
    if (key == NULL && asked)
        (void)err_set(err, ERR_INVALID,
                      "tls_key: the key in '%s' has a passphrase; store it without one", path);
    else if (key == NULL)
        (void)err_set(err, ERR_INVALID, "tls_key: '%s' has no usable PEM private key: %s", path,
                      reason());
    else if (X509_check_private_key(SSL_CTX_get0_certificate(context), key) != 1)
        (void)err_set(err, ERR_INVALID,
                      "tls_key: the key in '%s' does not belong to the certificate in '%s'", path,
                      cert_path);
    else if (SSL_CTX_use_PrivateKey(context, key) != 1)
        (void)err_set(err, ERR_INVALID, "tls_key: the key in '%s' is not usable: %s", path,
                      reason());
    else
        r = 0;
    ERR_clear_error();
    EVP_PKEY_free(key);
    BIO_free(bio);
    return r;
}

/* HTTP/1.1 is all there is: a client that insists on another protocol is refused. */
static int choose_protocol(SSL *ssl, const unsigned char **ret, unsigned char *ret_len,
                           const unsigned char *offered, unsigned offered_len, void *ctx)
{
    static const char ours[] = "http/1.1";
    const unsigned char *end = offered + offered_len;

    (void)ssl;
    (void)ctx;
    for (const unsigned char *at = offered; at < end; at += 1 + *at) {
        if (*at != sizeof(ours) - 1 || (size_t)(end - at) < sizeof(ours) ||
            memcmp(at + 1, ours, sizeof(ours) - 1) != 0)
            continue;
        *ret = at + 1;
        *ret_len = *at;
        return SSL_TLSEXT_ERR_OK;
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* What every session has in common. False when OpenSSL lacks something. */
static bool set_rules(SSL_CTX *context)
{
    (void)SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                           SSL_OP_CIPHER_SERVER_PREFERENCE |
                                           SSL_OP_PRIORITIZE_CHACHA);
    /* A slow or idle client holds no buffers. Sessions are resumed by tickets: nothing is kept. */
    (void)SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    (void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    (void)SSL_CTX_set_num_tickets(context, 1);
    SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
    return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
           SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1 &&
           SSL_CTX_set1_groups_list(context, "X25519:P-256:P-384") == 1;
}

static int64_t expiry_of(SSL_CTX *context)
{
    struct tm when;

    if (ASN1_TIME_to_tm(X509_get0_notAfter(SSL_CTX_get0_certificate(context)), &when) != 1)
        return 0;
    return (int64_t)timegm(&when);
}

/* NULL with `err` set on failure. */
static SSL_CTX *read_files(const char *cert_path, const char *key_path, struct error *err)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());

    if (context == NULL || !set_rules(context)) {
        (void)err_set(err, ERR_INTERNAL, "OpenSSL cannot serve TLS: %s", reason());
    } else if (use_certificate(context, cert_path, err) == 0 &&
               use_key(context, key_path, cert_path, err) == 0) {
        return context;
    }
    SSL_CTX_free(context);
    return NULL;
}

int http_tls_new(const char *cert_path, const char *key_path, struct http_tls **ret,
                 struct error *err)
{
    SSL_CTX *context = read_files(cert_path, key_path, err);
    struct http_tls *tls;

    if (context == NULL)
        return -1;
    tls = NEW(struct http_tls);
    tls->cert_path = mem_strdup(cert_path);
    tls->key_path = mem_strdup(key_path);
    lock_init(&tls->lock);
    tls->context = context;
    tls->expires_s = expiry_of(context);
    *ret = tls;
    return 0;
}

int http_tls_reload(struct http_tls *tls, struct error *err)
{
    SSL_CTX *fresh = read_files(tls->cert_path, tls->key_path, err), *old;

    if (fresh == NULL)
        return -1;
    lock_acquire(&tls->lock);
    old = tls->context;
    tls->context = fresh;
    tls->expires_s = expiry_of(fresh);
    lock_release(&tls->lock);
    SSL_CTX_free(old); /* sessions that use it keep it */
    return 0;
}

int64_t http_tls_expires_s(struct http_tls *tls)
{
    int64_t when;

    lock_acquire(&tls->lock);
    when = tls->expires_s;
    lock_release(&tls->lock);
    return when;
}

SSL *http_tls_session(struct http_tls *tls)
{
    SSL *ssl;

    lock_acquire(&tls->lock);
    ssl = SSL_new(tls->context);
    lock_release(&tls->lock);
    return ssl;
}

void http_tls_free(struct http_tls *tls)
{
    if (tls == NULL)
        return;
    lock_unshared(&tls->lock);
    SSL_CTX_free(tls->context);
    lock_done(&tls->lock);
    free(tls->cert_path);
    free(tls->key_path);
    free(tls);
}

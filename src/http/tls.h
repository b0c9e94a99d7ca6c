/* tls.h - the certificate that listeners show, and its replacement while they serve.
 *
 * A connection keeps the certificate with which it began; http_tls_reload() is for those that come
 * after it. TLS 1.2 and 1.3 only; no compression, no renegotiation, no early data.
 *
 * Thread-safe.
 */
#pragma once
#include "base/err.h"

struct http_tls;
struct ssl_st;

/* Reads a certificate, with the chain that follows it in the file, and its private key; both PEM.
 * Copies the paths. The caller owns *ret, which must outlive the server that uses it. ERR_INVALID
 * says which file is wrong. */
int http_tls_new(const char *cert_path, const char *key_path, struct http_tls **ret,
                 struct error *err) MUST_CHECK;

/* Reads the same paths again. On failure the certificate that was there stays in use. */
int http_tls_reload(struct http_tls *tls, struct error *err) MUST_CHECK;

/* When the certificate in use expires, in seconds since 1970. */
int64_t http_tls_expires_s(struct http_tls *tls);

/* NULL is fine. */
void http_tls_free(struct http_tls *tls);

/* For http/: a session with the certificate in use now; NULL when memory is short. The caller owns
 * it. */
struct ssl_st *http_tls_session(struct http_tls *tls);

/* tls_session.h - sessions of a certificate; private to http/. */
#pragma once
#include <openssl/types.h>

struct http_tls;

/* A session with the certificate in use now; NULL when memory is short. The caller owns it. */
SSL *http_tls_session(struct http_tls *tls);

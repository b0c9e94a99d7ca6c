/* oidc.h - the state of this feature, for its own files. */
#pragma once
#include "base/str.h"

struct engine;
struct provider;
struct workers;

/* What settings say, and what runs; of a command, and without oidc_issuer, only the former. */
struct oidc {
    struct str redirect_uri;
    struct provider *provider; /* NULL: not enabled */
    struct workers *workers;
};

/* Any thread. */
const struct oidc *oidc_of(const struct engine *e);

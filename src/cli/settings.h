/* settings.h - all settings, from one table.
 *
 * Each setting comes from its flag, else from the environment (MUSTER_NAME),
 * else from the settings file, else from its default. An unknown setting or a
 * bad value is an error that names it.
 */
#pragma once
#include <stdbool.h>

#include "base/address.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

struct settings {
    const char *data; /* directory */
    const char *server, *server_ca,
        *token_file;                /* of commands; empty: the server on this machine */
    const char *listen;             /* ADDR:PORT */
    const char *database;           /* URL; empty: SQLite in the data directory */
    const char *config;             /* file; empty: none */
    bool config_is_closed;          /* the package's file, which this user may not read */
    const char *master_key_file;    /* empty: master.key in the data directory */
    const char *public_url;         /* empty: as it listens */
    const char *cors_origins;       /* comma-separated; empty: none */
    const char *tls_cert, *tls_key; /* files; both empty: no TLS */
    struct address_list trusted_proxies;
    const char *log_level, *log_format;
    const char *log_file;                       /* empty: standard error */
    const char *metrics_token, *metrics_listen; /* empty: none */
    const char *smtp_url, *smtp_from, *smtp_user, *smtp_password_file;
    const char *oidc_issuer; /* empty: no identity provider */
    const char *oidc_client_id, *oidc_client_secret_file, *oidc_scopes, *oidc_groups_claim;
    const char *oidc_name;
    int64_t oidc_unverified_email, password_sign_in;
    int64_t allow_root, confine;
    int64_t webhook_allow_http, webhook_allow_private;
    int64_t loops, readers;
    int64_t min_free_bytes;
    int64_t max_connections, max_connections_per_address;
    int64_t key_rotations_per_hour;
    int64_t max_live_streams, max_exports;
    int64_t queue_max_events, queue_max_wait_ms;
    int64_t inflight_max_bytes, reply_max_bytes, wal_max_bytes;
    int64_t batch_max_events, batch_max_bytes, body_max_bytes;
};

enum setting_type {
    SETTING_TEXT,
    SETTING_NUMBER,
    SETTING_ADDRESSES,
    SETTING_URL, /* scheme, host and perhaps a port; stored without a slash at its end */
};
enum { SETTING_NAME_MAX = 64 };

/* One row. Its flag is --name with '_' as '-', its variable MUSTER_NAME in capitals. */
struct setting {
    const char *name;
    enum setting_type type;
    size_t offset;
    const char *initial;
    int64_t least, most; /* of a number */
    const char *schemes; /* of a URL: two, separated by a space */
    const char *help;
};

extern const struct setting settings_table[];
extern const size_t n_settings;

/* A flag given on the command line, without its dashes. */
struct setting_flag {
    const char *name, *value;
};

/* "max_connections" as the option "max-connections", or as the variable "MUSTER_MAX_CONNECTIONS".
 */
void settings_spell(const struct setting *s, bool as_variable, char ret[SETTING_NAME_MAX]);

/* The row of a flag, NULL when there is none. */
const struct setting *settings_find_flag(const char *flag);

/* Reads all sources. Texts live in the arena. ERR_INVALID names what is wrong. The package's file
 * is for root and the service: a user who may not read it gets `config_is_closed`, not an error,
 * and reaches a service by its URL or a login. */
int settings_read(const struct setting_flag *flags, size_t n_flags, struct arena *arena,
                  struct settings *ret, struct error *err) MUST_CHECK;

/* Does a flag or a variable name a service or its data: server, database, data or config? */
bool settings_name_service(const struct setting_flag *flags, size_t n);

/* For what needs the settings of the package's file. */
int settings_check_open(const struct settings *s, const struct setting_flag *flags, size_t n,
                        struct error *err) MUST_CHECK;

/* One line per setting, for help. */
void settings_print(struct buf *out);

/* The reference page, in Markdown: docs/SETTINGS.md. */
void settings_print_page(struct buf *out);

/* The same for programs. */
void settings_print_json(struct buf *out);

/* The nearest of `words`, which end in NULL, to a mistyped one; NULL when none is near. Borrowed
 * from `words`. */
const char *suggest(const char *typed, const char *const *words);

/* settings.c - the table of settings and where their values come from. */
#include "cli/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"

#define SETTING_AT(m, ctype, tag)                                                                  \
    .name = #m, .type = (tag),                                                                     \
    .offset = _Generic(((struct settings *)0)->m, ctype: offsetof(struct settings, m))
#define TEXT(m)      SETTING_AT(m, const char *, SETTING_TEXT)
#define NUMBER(m)    SETTING_AT(m, int64_t, SETTING_NUMBER)
#define URL(m)       SETTING_AT(m, const char *, SETTING_URL)
#define ADDRESSES(m) SETTING_AT(m, struct address_list, SETTING_ADDRESSES)

#ifndef CONFINE_INITIAL
#define CONFINE_INITIAL "1"
#endif

/* A packaged program has a settings file of its own, which may be absent. */
#ifndef CONFIG_INITIAL
#define CONFIG_INITIAL ""
#endif

/* clang-format off */
const struct setting settings_table[] = {
    { TEXT(data),     .initial = "./data",         .help = "directory of the embedded database, its lock and its socket" },
    { TEXT(listen),   .initial = "127.0.0.1:8080", .help = "address and port to listen on, such as 127.0.0.1:8080, [::1]:8080, localhost:8080 or :8080 (all IPv4 addresses); port 0: any free port" },
    { TEXT(database), .initial = "",               .help = "postgresql://... to use PostgreSQL; empty: SQLite in the data directory" },
    { TEXT(config),   .initial = CONFIG_INITIAL,   .help = "settings file, one 'name = value' per line" },
    { TEXT(server),     .initial = "",             .help = "https://HOST[:PORT] of the service that commands send their requests to, with token_file; empty: the one on this machine" },
    { TEXT(server_ca),  .initial = "",             .help = "file with the certificates (PEM) that server's certificate must be signed by; empty: the system's" },
    { TEXT(token_file), .initial = "",             .help = "file with the personal access token for server, readable by its owner alone" },
    { TEXT(master_key_file), .initial = "",        .help = "file with the master key that encrypts secrets; empty: master.key in the data directory" },
    { URL(public_url),  .initial = "", .schemes = "https http", .help = "URL that people open, such as https://muster.example.com; with https, cookies are sent over TLS only" },
    { TEXT(cors_origins), .initial = "",           .help = "origins of other web pages whose scripts may call the API with a key or token, such as https://app.example.com, separated by commas; cookies are never accepted from them; empty: none" },
    { TEXT(tls_cert), .initial = "",               .help = "file with the TLS certificate and its chain (PEM), with tls_key: the service speaks TLS 1.2 and 1.3 only; read again on SIGHUP" },
    { TEXT(tls_key),  .initial = "",               .help = "file with the private key of tls_cert (PEM, without a passphrase)" },
    { ADDRESSES(trusted_proxies), .initial = "",   .help = "proxies whose X-Forwarded-For names the client: addresses and networks such as 10.0.0.0/8, separated by commas" },
    { TEXT(log_level), .initial = "info",          .help = "debug, info, warning, error or off; info logs one line per request" },
    { TEXT(log_format), .initial = "text",         .help = "text or json: one line per event, in JSON one object per line" },
    { TEXT(log_file),  .initial = "",              .help = "file to which the log is added once the server runs, opened again on SIGHUP; empty: standard error" },
    { TEXT(metrics_token),  .initial = "",         .help = "bearer token that may read /metrics, at least 16 characters; set it in the environment or the settings file, because other users can see command lines" },
    { TEXT(metrics_listen), .initial = "",         .help = "address and port that serve only /metrics, without authentication: use loopback or a private network" },
    { URL(smtp_url),   .initial = "", .schemes = "smtps smtp", .help = "smtp://HOST:PORT or smtps://HOST:PORT, the server that sends e-mail, with smtp_from: alerts, invitations and reset links; empty: no e-mail" },
    { TEXT(smtp_from), .initial = "",              .help = "sender address of e-mail" },
    { TEXT(smtp_user), .initial = "",              .help = "user name for the mail server, sent over TLS only; empty: no authentication" },
    { TEXT(smtp_password_file), .initial = "",     .help = "file with the password of smtp_user" },
    { TEXT(oidc_issuer),    .initial = "",         .help = "https:// URL of an identity provider (OpenID Connect) by which people may sign in, exactly as it names itself; http:// only on this machine; empty: none" },
    { TEXT(oidc_client_id), .initial = "",         .help = "id by which the provider knows this service; its redirect URI there is public_url and /oidc/callback" },
    { TEXT(oidc_client_secret_file), .initial = "", .help = "file with the secret of oidc_client_id, read at each sign-in; empty: a public client" },
    { TEXT(oidc_scopes),    .initial = "openid email profile", .help = "what the provider is asked for, separated by spaces; some need one more to send groups" },
    { TEXT(oidc_groups_claim), .initial = "groups", .help = "claim of the ID token, or of UserInfo, with a person's groups" },
    { TEXT(oidc_name),      .initial = "single sign-on", .help = "what the button on the sign-in page calls the provider" },
    { NUMBER(oidc_unverified_email), .initial = "0", .least = 0, .most = 1, .help = "1: create users also with e-mail addresses that the provider does not call verified; for a provider in which people cannot choose their address" },
    { NUMBER(password_sign_in), .initial = "1", .least = 0, .most = 1, .help = "0: people sign in by the provider only; commands on this machine work without a password" },
    { NUMBER(allow_root), .initial = "0", .least = 0, .most = 1, .help = "1: allow the server to run as root outside a container" },
    { NUMBER(confine),    .initial = CONFINE_INITIAL, .least = 0, .most = 1, .help = "0: do not restrict the server's system calls (seccomp)" },
    { NUMBER(webhook_allow_http),    .initial = "0", .least = 0, .most = 1, .help = "1: allow http:// webhooks, for local use" },
    { NUMBER(webhook_allow_private), .initial = "0", .least = 0, .most = 1, .help = "1: allow webhooks to any address and port, for local use" },
    { NUMBER(loops),   .initial = "0", .least = 0, .most = 256, .help = "threads that serve connections, plus the same number for requests with large bodies; 0: one per core" },
    { NUMBER(readers), .initial = "4", .least = 1, .most = 64,  .help = "threads that read from the database" },
    { NUMBER(min_free_bytes), .initial = "0", .least = 0, .most = 1LL << 50, .help = "free bytes of the database's file system below which reports get 503, while everything else goes on; 0: 5 % of it, at most 256 MiB" },
    { NUMBER(max_connections),             .initial = "10000", .least = 1, .most = 1000000, .help = "open connections in total" },
    { NUMBER(max_connections_per_address), .initial = "1024",  .least = 0, .most = 1000000, .help = "open connections per client address (IPv6: per /64), except trusted_proxies; beyond it 503; 0: no limit" },
    { NUMBER(key_rotations_per_hour),      .initial = "10",    .least = 1, .most = 1000000, .help = "rotations of a key and its successors in an hour; beyond it 429" },
    { NUMBER(max_live_streams),            .initial = "4000",  .least = 0, .most = 1000000, .help = "open live streams (server-sent events) in total, of which a tenant has a quarter; beyond it 503" },
    { NUMBER(max_exports),                 .initial = "4",     .least = 1, .most = 64,      .help = "exports that run at once in total, of which a tenant has a quarter, at least one; beyond it 503" },
    { NUMBER(queue_max_events), .initial = "100000",    .least = 1,       .most = 100000000,       .help = "events waiting to be stored; beyond it 503" },
    { NUMBER(queue_max_wait_ms), .initial = "5000",     .least = 0,       .most = 600000,          .help = "how long a request may wait for its turn at the database, by expectation or by the clock, in milliseconds; then it is 503; 0: no limit" },
    { NUMBER(inflight_max_bytes), .initial = "25165824", .least = 1048576, .most = 1LL << 40,      .help = "bytes of all request bodies not answered yet, of which a tenant has a third (at least 8 MiB) and a key three quarters of that; beyond it 503" },
    { NUMBER(reply_max_bytes), .initial = "100663296", .least = 1048576, .most = 1LL << 40,        .help = "bytes of all replies that clients have not read yet, of which a tenant has half; beyond it reads are 503" },
    { NUMBER(wal_max_bytes),    .initial = "134217728", .least = 0,       .most = 1LL << 40,       .help = "bytes of SQLite's write-ahead log; near it the log is restarted, and reads that have taken over 0.5 s then are 503; 0: no limit" },
    { NUMBER(batch_max_events), .initial = "1000",      .least = 1,       .most = 1000000,         .help = "events per batch" },
    { NUMBER(batch_max_bytes),  .initial = "5242880",   .least = 1024,    .most = 32 << 20,         .help = "bytes per batch; a business report may have twice as many" },
    { NUMBER(body_max_bytes),   .initial = "1048576",   .least = 1024,    .most = 32 << 20,         .help = "bytes of any other request body" },
};
/* clang-format on */

const size_t n_settings = COUNT_OF(settings_table);

enum { FILE_MAX = 1 << 20 };

void settings_spell(const struct setting *s, bool as_variable, char ret[SETTING_NAME_MAX])
{
    size_t n =
        (size_t)snprintf(ret, SETTING_NAME_MAX, "%s%s", as_variable ? "MUSTER_" : "", s->name);

    for (size_t i = 0; i < n; i++) {
        if (as_variable && ret[i] >= 'a' && ret[i] <= 'z')
            ret[i] = (char)(ret[i] - 'a' + 'A');
        else if (!as_variable && ret[i] == '_')
            ret[i] = '-';
    }
}

const struct setting *settings_find_flag(const char *flag)
{
    char name[SETTING_NAME_MAX];

    for (size_t i = 0; i < n_settings; i++) {
        settings_spell(&settings_table[i], false, name);
        if (strcmp(name, flag) == 0)
            return &settings_table[i];
    }
    return NULL;
}

static int assign_addresses(char *place, const struct setting *s, const char *value,
                            const char *source, struct arena *arena, struct error *err)
{
    struct address_list list;

    if (address_list_parse(str_of(value), arena, &list, err) != 0)
        return err_wrap(err, "%s: bad value for %s", source, s->name);
    memcpy(place, (const void *)&list, sizeof(list));
    return 0;
}

/* "a or b" of "a b", each with what follows: "https://HOST[:PORT] or http://HOST[:PORT]". */
static const char *url_forms(const struct setting *s, struct arena *arena)
{
    struct str rest = str_of(s->schemes), first = str_split(&rest, ' ');

    return arena_printf(arena, "%.*s://HOST[:PORT] or %.*s://HOST[:PORT]", STR_ARG(first),
                        STR_ARG(rest))
        .data;
}

/* Without a slash at its end, so that paths can be appended. What stands before an '@' may be a
 * password, which no message may have. */
static int assign_url(char *place, const struct setting *s, const char *value, const char *source,
                      struct arena *arena, struct error *err)
{
    struct str url = str_of(value);
    const char *text, *at = strrchr(value, '@');

    if (url.len > 0 && url.data[url.len - 1] == '/')
        url.len--;
    if (url.len > 0 && !url_is_plain(url, s->schemes))
        return err_set(err, ERR_INVALID,
                       "%s: '%s%s' is not a value for %s: give %s, with a name or an address, "
                       "and nothing else",
                       source, at != NULL ? "..." : "", at != NULL ? at : value, s->name,
                       url_forms(s, arena));
    text = arena_cstr(arena, url);
    memcpy(place, (const void *)&text, sizeof(text));
    return 0;
}

static int assign(const struct setting *s, const char *value, const char *source,
                  struct arena *arena, struct settings *ret, struct error *err)
{
    char *place = (char *)ret + s->offset;
    int64_t number;

    if (s->type == SETTING_ADDRESSES)
        return assign_addresses(place, s, value, source, arena, err);
    if (s->type == SETTING_URL)
        return assign_url(place, s, value, source, arena, err);
    if (s->type == SETTING_TEXT) {
        const char *text = arena_cstr(arena, str_of(value));

        memcpy(place, (const void *)&text, sizeof(text));
        return 0;
    }
    if (!str_to_int(str_of(value), &number) || number < s->least || number > s->most)
        return err_set(err, ERR_INVALID,
                       "%s: '%s' is not a value for %s: give a whole number from %lld to %lld",
                       source, value, s->name, (long long)s->least, (long long)s->most);
    memcpy(place, &number, sizeof(number));
    return 0;
}

static const struct setting *find_name(struct str name)
{
    for (size_t i = 0; i < n_settings; i++)
        if (str_eq_c(name, settings_table[i].name))
            return &settings_table[i];
    return NULL;
}

/* Suggestions */

enum { WORD_MAX = 40, FAR = WORD_MAX };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Letters to insert, delete, replace or swap with their neighbour to make `b` of `a`. */
static size_t distance(const char *a, const char *b)
{
    const size_t n = strlen(a), m = strlen(b);
    size_t rows[WORD_MAX + 1][WORD_MAX + 1];

    if (n > WORD_MAX || m > WORD_MAX)
        return FAR;
    for (size_t i = 0; i <= n; i++)
        rows[i][0] = i;
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        for (size_t j = 1; j <= m; j++) {
            const size_t replaced = rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

            rows[i][j] = least(replaced, least(rows[i - 1][j], rows[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                rows[i][j] = least(rows[i][j], rows[i - 2][j - 2] + 1);
        }
    }
    return rows[n][m];
}

const char *suggest(const char *typed, const char *const *words)
{
    const size_t len = strlen(typed);
    size_t best = len / 3 + 2; /* one slip in a short word, two from three letters on */
    const char *nearest = NULL;

    for (; *words != NULL; words++) {
        const bool begins = len >= 2 && strncmp(*words, typed, len) == 0;
        const size_t d = begins ? 1 : distance(typed, *words);

        if (d < best && d < least(len, strlen(*words))) {
            best = d;
            nearest = *words;
        }
    }
    return nearest;
}

/* "; did you mean 'listen'?" for a name that is near one, as it is written there; else ";". */
static const char *meant(struct str typed, bool as_variable, struct arena *arena)
{
    static const struct str prefix = STR_INIT("MUSTER_");
    const size_t skipped = as_variable ? prefix.len : 0; /* else every short word would be near */
    const char **words = (const char **)arena_alloc(arena, (n_settings + 1) * sizeof(*words));
    const char *near;

    for (size_t i = 0; i < n_settings; i++) {
        char *word = arena_alloc(arena, SETTING_NAME_MAX);

        settings_spell(&settings_table[i], as_variable, word);
        words[i] = as_variable ? word + skipped : settings_table[i].name;
    }
    words[n_settings] = NULL;
    near = suggest(arena_cstr(arena, typed) + skipped, words);
    return near == NULL ? ";" : arena_printf(arena, "; did you mean '%s'?", near - skipped).data;
}

/* The settings file as it is read. */
struct settings_file {
    const char *path;
    unsigned line;
    unsigned *set_in; /* for each setting the line that set it; 0: none so far */
};

static int read_line(struct settings_file *file, struct str line, struct arena *arena,
                     struct settings *ret, struct error *err)
{
    const char *source = arena_printf(arena, "%s:%u", file->path, ++file->line).data;
    const struct setting *s;
    struct str name;
    unsigned *before;

    line = str_trim(line);
    if (line.len == 0 || line.data[0] == '#')
        return 0;
    name = str_trim(str_split(&line, '='));
    if (str_is_null(line))
        return err_set(err, ERR_INVALID, "%s: '%.*s' is not a setting: write 'name = value'",
                       source, STR_ARG(name));
    s = find_name(name);
    if (s == NULL || str_eq_c(name, "config"))
        return err_set(err, ERR_INVALID,
                       "%s: unknown setting '%.*s'%s `muster settings` lists all settings", source,
                       STR_ARG(name), meant(name, false, arena));
    before = &file->set_in[s - settings_table];
    if (*before != 0)
        return err_set(err, ERR_INVALID, "%s: %s is set in line %u already: leave one of them out",
                       source, s->name, *before);
    *before = file->line;
    return assign(s, arena_cstr(arena, str_trim(line)), source, arena, ret, err);
}

static int read_file(const char *path, struct arena *arena, struct settings *ret, struct error *err)
{
    struct settings_file lines = { .path = path };
    FILE *file = fopen(path, "re");
    char *bytes;
    struct str rest;
    int failed;

    if (file == NULL)
        return err_set(err, ERR_INVALID, "cannot read the settings file '%s': %s", path,
                       strerror(errno));
    bytes = arena_alloc(arena, FILE_MAX);
    rest = str_from(bytes, fread(bytes, 1, FILE_MAX, file));
    failed = ferror(file) != 0 ? errno : 0;
    (void)fclose(file);
    if (failed != 0)
        return err_set(err, ERR_INVALID, "cannot read the settings file '%s': %s", path,
                       strerror(failed));
    if (rest.len == FILE_MAX)
        return err_set(err, ERR_INVALID,
                       "the settings file '%s' is too large: it may have less than %d bytes", path,
                       FILE_MAX);
    lines.set_in = ARENA_ARRAY(arena, unsigned, n_settings);
    while (!str_is_null(rest))
        if (read_line(&lines, str_split(&rest, '\n'), arena, ret, err) != 0)
            return -1;
    return 0;
}

/* Is it a variable of the libraries for agents? A shell may have these for an agent it starts. */
static bool is_of_agents(struct str variable)
{
    static const char *const names[] = { "MUSTER_URL", "MUSTER_TOKEN", "MUSTER_TENANT",
                                         "MUSTER_STATE_DIR", "MUSTER_DISABLED" };

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (str_eq_c(variable, names[i]))
            return true;
    return false;
}

/* A variable that looks like a setting but is not one is a typo. */
static int check_environment(struct arena *arena, struct error *err)
{
    static const struct str prefix = STR_INIT("MUSTER_"), tests = STR_INIT("MUSTER_TEST_");
    char name[SETTING_NAME_MAX];

    for (char **variable = environ; *variable != NULL; variable++) {
        struct str rest = str_of(*variable), given = str_split(&rest, '=');
        bool known = !str_starts(given, prefix) || str_starts(given, tests) || is_of_agents(given);

        for (size_t i = 0; i < n_settings && !known; i++) {
            settings_spell(&settings_table[i], true, name);
            known = str_eq_c(given, name);
        }
        if (!known)
            return err_set(err, ERR_INVALID,
                           "%.*s: unknown setting%s `muster settings` lists all settings",
                           STR_ARG(given), meant(given, true, arena));
    }
    return 0;
}

static int read_environment(struct arena *arena, struct settings *ret, struct error *err)
{
    char name[SETTING_NAME_MAX];

    for (size_t i = 0; i < n_settings; i++) {
        const char *value;

        settings_spell(&settings_table[i], true, name);
        value = getenv(name);
        if (value != NULL && assign(&settings_table[i], value, name, arena, ret, err) != 0)
            return -1;
    }
    return 0;
}

static int read_flags(const struct setting_flag *flags, size_t n, struct arena *arena,
                      struct settings *ret, struct error *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct setting *s = settings_find_flag(flags[i].name);
        struct str source = arena_printf(arena, "--%s", flags[i].name);

        if (s == NULL)
            return err_set(err, ERR_INVALID, "unknown setting '%s'", source.data);
        if (assign(s, flags[i].value, source.data, arena, ret, err) != 0)
            return -1;
    }
    return 0;
}

static bool is_given(const char *name, const struct setting_flag *flags, size_t n)
{
    char variable[SETTING_NAME_MAX];
    const char *value;

    settings_spell(settings_find_flag(name), true, variable);
    value = getenv(variable);
    if (value != NULL && value[0] != '\0')
        return true;
    for (size_t f = 0; f < n; f++)
        if (strcmp(flags[f].name, name) == 0)
            return true;
    return false;
}

bool settings_name_service(const struct setting_flag *flags, size_t n)
{
    return is_given("server", flags, n) || is_given("database", flags, n) ||
           is_given("data", flags, n) || is_given("config", flags, n);
}

int settings_check_open(const struct settings *s, const struct setting_flag *flags, size_t n,
                        struct error *err)
{
    if (!s->config_is_closed || settings_name_service(flags, n))
        return 0;
    return err_set(err, ERR_INVALID,
                   "cannot read the settings file '%s': %s; use sudo, or sign in with "
                   "`muster login`",
                   s->config, strerror(EACCES));
}

/* Is there a file to read? Another one than the package's must be there, and one that was named be
 * readable. */
static bool has_file(const char *path, bool is_named, bool *ret_is_closed)
{
    *ret_is_closed = false;
    if (path[0] == '\0' || strcmp(path, CONFIG_INITIAL) != 0)
        return path[0] != '\0';
    if (access(path, R_OK) == 0)
        return true;
    *ret_is_closed = errno == EACCES && !is_named;
    return !*ret_is_closed && access(path, F_OK) == 0;
}

int settings_read(const struct setting_flag *flags, size_t n_flags, struct arena *arena,
                  struct settings *ret, struct error *err)
{
    struct settings s = { 0 };

    for (size_t i = 0; i < n_settings; i++)
        if (assign(&settings_table[i], settings_table[i].initial, "default", arena, &s, err) != 0)
            return -1;
    if (check_environment(arena, err) != 0)
        return -1;
    /* once for the name of the file, once more over what the file says */
    if (read_environment(arena, &s, err) != 0 || read_flags(flags, n_flags, arena, &s, err) != 0)
        return -1;
    if (has_file(s.config, is_given("config", flags, n_flags), &s.config_is_closed) &&
        (read_file(s.config, arena, &s, err) != 0 || read_environment(arena, &s, err) != 0 ||
         read_flags(flags, n_flags, arena, &s, err) != 0))
        return -1;
    *ret = s;
    return 0;
}

void settings_print(struct buf *out)
{
    char flag[SETTING_NAME_MAX], variable[SETTING_NAME_MAX];

    for (size_t i = 0; i < n_settings; i++) {
        const struct setting *s = &settings_table[i];

        settings_spell(s, false, flag);
        settings_spell(s, true, variable);
        buf_printf(out, "  --%-28s %s (%s; default: %s)\n", flag, s->help, variable,
                   s->initial[0] == '\0' ? "none" : s->initial);
    }
}

void settings_print_page(struct buf *out)
{
    char flag[SETTING_NAME_MAX], variable[SETTING_NAME_MAX];

    buf_add_c(
        out,
        "# Settings\n\n"
        "Printed by `muster settings`. A setting comes from its option, else from its environment\n"
        "variable, else from the settings file (`name = value`), else from its default.\n\n"
        "| Setting | Option | Variable | Default | Values | Meaning |\n"
        "|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < n_settings; i++) {
        const struct setting *s = &settings_table[i];

        settings_spell(s, false, flag);
        settings_spell(s, true, variable);
        buf_printf(out, "| `%s` | `--%s` | `%s` | %s%s%s | ", s->name, flag, variable,
                   s->initial[0] == '\0' ? "" : "`", s->initial[0] == '\0' ? "none" : s->initial,
                   s->initial[0] == '\0' ? "" : "`");
        if (s->type == SETTING_TEXT || s->type == SETTING_URL)
            buf_add_c(out, s->type == SETTING_URL ? "URL" : "text");
        else if (s->type == SETTING_ADDRESSES)
            buf_add_c(out, "addresses and networks");
        else
            buf_printf(out, "%lld to %lld", (long long)s->least, (long long)s->most);
        buf_printf(out, " | %s |\n", s->help);
    }
}

/* Names, defaults and help are ours and need no escapes: none of them has a double quote. */
void settings_print_json(struct buf *out)
{
    char flag[SETTING_NAME_MAX], variable[SETTING_NAME_MAX];

    buf_add_c(out, "{\"settings\":[");
    for (size_t i = 0; i < n_settings; i++) {
        const struct setting *s = &settings_table[i];

        settings_spell(s, false, flag);
        settings_spell(s, true, variable);
        buf_printf(out,
                   "%s{\"name\":\"%s\",\"flag\":\"--%s\",\"variable\":\"%s\",\"default\":\"%s\","
                   "\"help\":\"%s\"}",
                   i > 0 ? "," : "", s->name, flag, variable, s->initial, s->help);
    }
    buf_add_c(out, "]}\n");
}

/* remote_settings.c - checks the URL of the service and reads the token for it. */
#include "cli/client.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/address.h"
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

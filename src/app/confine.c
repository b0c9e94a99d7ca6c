/* confine.c - what the server's process may not do: be root, be read, open other files, start
 * programs. */
#include "app/confine.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/landlock.h"
#include "app/seccomp.h"
#include "base/arena.h"
#include "base/log.h"
#include "shape/shape.h"

void confine_memory(void)
{
    const struct rlimit none = { 0, 0 };

    (void)prctl(PR_SET_DUMPABLE, 0);
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* In a container, root is bounded by the container. Without systemd as its first process this may
 * be a container without a mark, or a machine whose owner starts services another way. */
static bool may_be_container(void)
{
    return getenv("container") != NULL || getenv("KUBERNETES_SERVICE_HOST") != NULL ||
           access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0 ||
           access("/run/systemd/container", F_OK) == 0 || access("/run/systemd/system", F_OK) != 0;
}

int confine_check_user(const struct settings *settings, struct error *err)
{
    if (geteuid() == 0 && settings->allow_root == 0 && !may_be_container())
        return err_set(
            err, ERR_FORBIDDEN,
            "refusing to run as root: start it as another user, in a data directory that "
            "belongs to that user, or add --allow-root 1");
    return 0;
}

void confine_warn_user(const struct settings *settings)
{
    if (geteuid() == 0 && settings->allow_root == 0)
        log_write(LOG_WARNING, "start", "running as root: another user is safer");
}

/* The libraries read these: certificates, name resolution, time zones, and what glibc loads late.
 */
static const char *const system_paths[] = {
    "/etc", "/usr", "/lib", "/lib64", "/proc", "/sys", "/dev", "/run", "/var/lib/ca-certificates",
};

/* Variables that name a file or directory which OpenSSL or libpq reads. */
static const char *const path_variables[] = {
    "SSL_CERT_FILE", "SSL_CERT_DIR", "OPENSSL_CONF",  "PGPASSFILE", "PGSERVICEFILE", "PGSYSCONFDIR",
    "PGSSLCERT",     "PGSSLKEY",     "PGSSLROOTCERT", "PGSSLCRL",   "PGSSLCRLDIR",   "KRB5_CONFIG",
};

/* The directory that holds the file. */
static int allow_folder(struct landlock *l, const char *file, enum landlock_access access,
                        struct arena *arena, struct error *err)
{
    const char *slash = strrchr(file, '/');

    if (slash == NULL)
        return landlock_allow(l, ".", access, err);
    return landlock_allow(l, arena_cstr(arena, str_from(file, (size_t)(slash - file) + 1)), access,
                          err);
}

/* The directory that holds the file; if the file is a symbolic link, that of its target. */
static int allow_folder_of(struct landlock *l, const char *path, struct arena *arena,
                           struct error *err)
{
    char real[PATH_MAX];

    return allow_folder(l, realpath(path, real) == NULL ? path : real, LANDLOCK_WRITE, arena, err);
}

/* The directory that holds the file, so that another file of this name can be read. Of a file in
 * the root directory only the file itself: everything is below that. */
static int allow_next_to(struct landlock *l, const char *file, struct arena *arena,
                         struct error *err)
{
    if (file[0] == '/' && strrchr(file, '/') == file)
        return landlock_allow(l, file, LANDLOCK_READ, err);
    return allow_folder(l, file, LANDLOCK_READ, arena, err);
}

/* A file that is read again: a renewal replaces it, or makes a link point to another file next to
 * the old one. */
static int allow_replaceable(struct landlock *l, const char *path, struct arena *arena,
                             struct error *err)
{
    char real[PATH_MAX];

    if (path[0] == '\0')
        return 0;
    if (realpath(path, real) != NULL && allow_next_to(l, real, arena, err) != 0)
        return -1;
    return allow_next_to(l, path, arena, err);
}

/* What a library reads, at each new connection: a file that may be replaced, or a directory. */
static int allow_library_path(struct landlock *l, const char *path, struct arena *arena,
                              struct error *err)
{
    struct stat status;

    if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
        return allow_replaceable(l, path, arena, err);
    return landlock_allow(l, path, LANDLOCK_READ, err);
}

/* Files that the database URL names (sslrootcert=/path), and those that libpq looks for at home. */
static int allow_database(struct landlock *l, const char *url, struct arena *arena,
                          struct error *err)
{
    static const char *const at_home[] = { ".postgresql", ".pgpass", ".pg_service.conf" };
    const char *home = getenv("HOME");
    struct str rest = str_of(url);

    while (!str_is_null(rest)) {
        struct str pair = str_split(&rest, strchr(url, '?') != NULL ? '&' : ' ');
        struct str value;

        (void)str_split(&pair, '=');
        value = str_is_null(pair) ? STR_LIT("") : shape_decode_segment(pair, arena);
        if (str_starts(value, STR_LIT("/")) &&
            allow_library_path(l, arena_cstr(arena, value), arena, err) != 0)
            return -1;
    }
    for (size_t i = 0; home != NULL && i < COUNT_OF(at_home); i++)
        if (landlock_allow(l, arena_printf(arena, "%s/%s", home, at_home[i]).data, LANDLOCK_READ,
                           err) != 0)
            return -1;
    return 0;
}

static int allow_paths(struct landlock *l, const struct settings *settings, struct arena *arena,
                       struct error *err)
{
    const char *key_file = settings->master_key_file;

    for (size_t i = 0; i < COUNT_OF(system_paths); i++)
        if (landlock_allow(l, system_paths[i], LANDLOCK_READ, err) != 0)
            return -1;
    for (size_t i = 0; i < COUNT_OF(path_variables); i++) {
        const char *path = getenv(path_variables[i]);

        if (path != NULL && allow_library_path(l, path, arena, err) != 0)
            return -1;
    }
    if (key_file[0] == '\0')
        key_file = arena_printf(arena, "%s/master.key", settings->data).data;
    if (allow_folder_of(l, key_file, arena, err) != 0 ||
        allow_replaceable(l, settings->tls_cert, arena, err) != 0 ||
        allow_replaceable(l, settings->tls_key, arena, err) != 0 ||
        (settings->log_file[0] != '\0' &&
         allow_folder_of(l, settings->log_file, arena, err) != 0) ||
        allow_replaceable(l, settings->smtp_password_file, arena, err) != 0 ||
        allow_replaceable(l, settings->oidc_client_secret_file, arena, err) != 0)
        return -1;
    if (settings->database[0] != '\0')
        return allow_database(l, settings->database, arena, err);
    if (landlock_allow(l, settings->data, LANDLOCK_WRITE, err) != 0)
        return -1;
    return allow_folder_of(l, arena_printf(arena, "%s/muster.db", settings->data).data, arena, err);
}

void confine_server(const struct settings *settings, struct arena *arena)
{
    struct error err = { 0 };
    struct landlock l;

    if (settings->confine == 0)
        return;
    landlock_init(&l);
    if (l.abi == 0)
        (void)err_set(&err, ERR_UNAVAILABLE, "this kernel has no Landlock");
    if (l.abi == 0 || allow_paths(&l, settings, arena, &err) != 0 ||
        landlock_enforce(&l, &err) != 0)
        log_write(LOG_WARNING, "start", "files outside the data directory are not protected: %s",
                  err.text);
    landlock_done(&l);
    if (!seccomp_enforce())
        log_write(LOG_WARNING, "start", "system calls are not restricted: no seccomp here");
    /* Temporary files of SQLite, too, may only be in the data directory. */
    if (settings->database[0] == '\0')
        (void)setenv("SQLITE_TMPDIR", settings->data, 0);
}

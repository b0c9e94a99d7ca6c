/* login_file.c - reads and writes the file of a login. */
#include "cli/client.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/files.h"

enum { LOGIN_MAX_BYTES = 16384 };

struct member {
    const char *name, **value;
};

enum { MEMBERS = 5 };

/* The lines of the file. */
static void list_members(struct login *login, struct member ret[static MEMBERS])
{
    const struct member members[MEMBERS] = {
        { "server", &login->server }, { "server_ca", &login->server_ca },
        { "user", &login->user },     { "token_id", &login->token_id },
        { "token", &login->token },
    };

    memcpy(ret, members, sizeof(members));
}

const char *login_file_path(struct arena *arena)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

    if (config != NULL && config[0] == '/') /* the specification ignores any other */
        return arena_printf(arena, "%s/muster/login", config).data;
    if (home != NULL && home[0] == '/')
        return arena_printf(arena, "%s/.config/muster/login", home).data;
    return NULL;
}

static int check_owner(int fd, const char *path, struct error *err)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return err_set(err, ERR_IO, "cannot read '%s': %s", path, strerror(errno));
    if (st.st_uid != geteuid() || (st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return err_set(err, ERR_INVALID,
                       "'%s' holds a token, but is not yours alone: delete it and run `muster "
                       "login` again",
                       path);
    return 0;
}

static int read_line(struct str line, struct login *login, struct arena *arena)
{
    struct str name = str_trim(str_split(&line, '='));
    struct member members[MEMBERS];

    if (name.len == 0 && str_is_null(line))
        return 0;
    list_members(login, members);
    for (size_t i = 0; i < MEMBERS && !str_is_null(line); i++)
        if (str_eq_c(name, members[i].name)) {
            *members[i].value = arena_cstr(arena, str_trim(line));
            return 0;
        }
    return -1;
}

static int read_text(struct str text, const char *path, struct arena *arena, struct login *ret,
                     struct error *err)
{
    struct login login = { "", "", "", "", "" };
    bool good = true;

    while (!str_is_null(text) && good)
        good = read_line(str_split(&text, '\n'), &login, arena) == 0;
    if (!good || login.server[0] == '\0' || login.token[0] == '\0')
        return err_set(err, ERR_INVALID,
                       "'%s' is not a login: delete it and run `muster login` again", path);
    *ret = login;
    return 0;
}

int login_file_read(struct arena *arena, struct login *ret, bool *ret_found, struct error *err)
{
    const char *path = login_file_path(arena);
    char *bytes;
    ssize_t n;
    int fd, r;

    *ret_found = false;
    fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && (path == NULL || errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (fd < 0)
        return err_set(err, ERR_INVALID, "cannot read '%s': %s", path, strerror(errno));
    bytes = arena_alloc(arena, LOGIN_MAX_BYTES);
    r = check_owner(fd, path, err);
    n = r == 0 ? read(fd, bytes, LOGIN_MAX_BYTES) : 0;
    (void)close(fd);
    if (r == 0 && (n < 0 || n == LOGIN_MAX_BYTES))
        r = err_set(err, ERR_INVALID, "cannot read '%s', or it is too large", path);
    if (r == 0)
        r = read_text(str_from(bytes, (size_t)n), path, arena, ret, err);
    *ret_found = r == 0;
    return r;
}

/* Makes the folders that are missing; only those of the last two levels may be. */
static int make_folders(const char *path, struct arena *arena, struct error *err)
{
    const char *folder = arena_cstr(arena, str_from(path, (size_t)(strrchr(path, '/') - path)));
    const char *above =
        arena_cstr(arena, str_from(folder, (size_t)(strrchr(folder, '/') - folder)));

    if (mkdir(above, S_IRWXU) != 0 && errno != EEXIST)
        return err_set(err, ERR_IO, "cannot make the folder '%s': %s", above, strerror(errno));
    if (mkdir(folder, S_IRWXU) != 0 && errno != EEXIST)
        return err_set(err, ERR_IO, "cannot make the folder '%s': %s", folder, strerror(errno));
    return 0;
}

int login_file_write(const struct login *login, struct arena *arena, struct error *err)
{
    const char *path = login_file_path(arena);
    struct login values = *login;
    struct member members[MEMBERS];
    BUF_SCOPED(text, LOGIN_MAX_BYTES);

    if (path == NULL)
        return err_set(err, ERR_INVALID, "HOME is not set, so there is no place for the login");
    list_members(&values, members);
    for (size_t i = 0; i < MEMBERS; i++)
        if (strchr(*members[i].value, '\n') != NULL) /* the rest would be a line of its own */
            return err_set(err, ERR_INVALID, "%s of the login has a line break", members[i].name);
    for (size_t i = 0; i < MEMBERS; i++)
        buf_printf(&text, "%s = %s\n", members[i].name, *members[i].value);
    if (text.overflown)
        return err_set(err, ERR_INVALID, "the server, the user or the path is too long");
    if (make_folders(path, arena, err) != 0)
        return -1;
    return file_replace(path, buf_str(&text), err);
}

struct remote login_remote(const struct login *login)
{
    return (struct remote){ .server = login->server,
                            .ca = login->server_ca[0] == '\0' ? NULL : login->server_ca,
                            .bearer_token = str_of(login->token) };
}

int login_file_delete(struct arena *arena, struct error *err)
{
    const char *path = login_file_path(arena);

    if (path != NULL && unlink(path) != 0 && errno != ENOENT)
        return err_set(err, ERR_IO, "cannot delete '%s': %s", path, strerror(errno));
    return 0;
}

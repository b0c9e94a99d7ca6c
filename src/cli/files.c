/* files.c - drafts and publishing them, and the data directory. */
#include "cli/files.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

static int fail(struct error *err, const char *what, const char *path)
{
    return err_set(err, errno == ENOSPC || errno == EDQUOT ? ERR_FULL : ERR_UNAVAILABLE,
                   "cannot %s '%s': %s", what, path, strerror(errno));
}

int file_draft(const char *path, struct arena *arena, const char **ret, struct error *err)
{
    struct str name = arena_printf(arena, "%s.XXXXXX", path);
    char *text = arena_alloc(arena, name.len + 1);
    int fd;

    memcpy(text, name.data, name.len + 1);
    fd = mkostemp(text, O_CLOEXEC);
    if (fd < 0)
        return fail(err, "create a file beside", path);
    (void)close(fd);
    *ret = text;
    return 0;
}

static int write_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t wrote = write(fd, bytes, n);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return -1;
        bytes += wrote;
        n -= (size_t)wrote;
    }
    return 0;
}

static int copy_bytes(int from, int to)
{
    static const size_t room = KIB(256);
    char *bytes = mem_new(room);
    ssize_t n;

    while ((n = read(from, bytes, room)) > 0)
        if (write_all(to, bytes, (size_t)n) != 0) {
            n = -1;
            break;
        }
    free(bytes);
    return n < 0 ? -1 : 0;
}

int file_copy(const char *from, const char *to, struct error *err)
{
    int in = open(from, O_RDONLY | O_CLOEXEC), out, r;

    if (in < 0)
        return fail(err, "open", from);
    out = open(to, O_WRONLY | O_TRUNC | O_CLOEXEC);
    r = out < 0 ? -1 : copy_bytes(in, out);
    if (r != 0)
        r = fail(err, "copy", from);
    (void)close(in);
    if (out >= 0)
        (void)close(out);
    return r;
}

static int sync_path(const char *path, int flags, struct error *err)
{
    int fd = open(path, flags | O_RDONLY | O_CLOEXEC);
    int r = fd < 0 ? -1 : fsync(fd);

    if (r != 0)
        r = fail(err, "sync", path);
    if (fd >= 0)
        (void)close(fd);
    return r;
}

int file_sync_directory_of(const char *path, struct error *err)
{
    char copy[4096];
    int n = snprintf(copy, sizeof(copy), "%s", path);

    if (n < 0 || (size_t)n >= sizeof(copy))
        return err_set(err, ERR_UNAVAILABLE, "the name '%.64s...' is too long", path);
    return sync_path(dirname(copy), O_DIRECTORY, err);
}

/* By a second name, because a rename would replace a file created meanwhile. */
int file_publish(const char *draft, const char *path, struct error *err)
{
    if (sync_path(draft, 0, err) != 0)
        return -1;
    if (link(draft, path) != 0)
        return fail(err, "name the finished file", path);
    if (unlink(draft) != 0)
        return fail(err, "remove", draft);
    return file_sync_directory_of(path, err);
}

void file_discard(const char *draft)
{
    static const char *const ends[] = { "", "-wal", "-shm", "-journal" };
    char name[4200];

    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        int n = snprintf(name, sizeof(name), "%s%s", draft, ends[i]);

        if (n > 0 && (size_t)n < sizeof(name))
            (void)unlink(name);
    }
}

int file_replace(const char *path, struct str bytes, struct error *err)
{
    ARENA_SCOPED(arena);
    const char *draft = arena_printf(&arena, "%s.new", path).data;
    int fd, r;

    (void)unlink(draft); /* left over from a crash */
    fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    r = fd >= 0 && write_all(fd, bytes.data, bytes.len) == 0 && fsync(fd) == 0 &&
                rename(draft, path) == 0
            ? 0
            : fail(err, "write", path);
    if (fd >= 0)
        (void)close(fd);
    if (r != 0 && fd >= 0)
        (void)unlink(draft);
    return r == 0 ? file_sync_directory_of(path, err) : r;
}

void datadir_init(struct datadir *d, const char *path, struct arena *arena)
{
    *d = (struct datadir){ .path = arena_cstr(arena, str_of(path)), .lock = -1 };
    d->socket = arena_printf(arena, "%s/muster.sock", path).data;
    d->database = arena_printf(arena, "sqlite:%s/muster.db", path).data;
}

int datadir_ensure(const struct datadir *d, bool may_make, struct error *err)
{
    struct stat status;

    if (stat(d->path, &status) == 0) {
        if (S_ISDIR(status.st_mode))
            return 0;
        return err_set(err, ERR_UNAVAILABLE, "'%s' is not a directory", d->path);
    }
    if (!may_make)
        return err_set(err, ERR_NOT_FOUND,
                       "data directory '%s' not found: `muster serve` creates it, --data names "
                       "another one, and `muster login` or --server a service elsewhere",
                       d->path);
    if (mkdir(d->path, 0700) != 0)
        return err_set(err, ERR_UNAVAILABLE, "cannot create the data directory '%s': %s", d->path,
                       strerror(errno));
    /* else a power cut could take the directory with the first events acknowledged in it */
    return file_sync_directory_of(d->path, err);
}

static bool has_file(const struct datadir *d, const char *name)
{
    char path[4096];
    int n = snprintf(path, sizeof(path), "%s/%s", d->path, name);

    return n > 0 && (size_t)n < sizeof(path) && access(path, F_OK) == 0;
}

bool datadir_is_used(const struct datadir *d)
{
    return has_file(d, "lock") || has_file(d, "muster.db");
}

int datadir_check_database(const struct datadir *d, struct error *err)
{
    if (has_file(d, "muster.db"))
        return 0;
    return err_set(
        err, ERR_NOT_FOUND,
        "no database in '%s': `muster serve` creates one, `muster restore` restores one; "
        "for PostgreSQL give --database",
        d->path);
}

int datadir_lock(struct datadir *d, struct error *err)
{
    char path[4096];
    int n = snprintf(path, sizeof(path), "%s/lock", d->path);

    if (n < 0 || (size_t)n >= sizeof(path))
        return err_set(err, ERR_UNAVAILABLE, "the data directory's name is too long");
    d->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (d->lock < 0)
        return err_set(err, ERR_UNAVAILABLE, "cannot open '%s': %s", path, strerror(errno));
    if (flock(d->lock, LOCK_EX | LOCK_NB) == 0) {
        (void)futimens(d->lock, NULL); /* tells datadir_holder() that it changed hands */
        return 0;
    }
    datadir_done(d);
    return err_set(err, ERR_BUSY, "another muster is using the data directory '%s'", d->path);
}

int64_t datadir_holder(const struct datadir *d)
{
    struct stat status;
    char path[4096];
    int n = snprintf(path, sizeof(path), "%s/lock", d->path);

    if (n < 0 || (size_t)n >= sizeof(path) || stat(path, &status) != 0)
        return -1;
    return (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
}

void datadir_done(struct datadir *d)
{
    if (d->lock >= 0)
        (void)close(d->lock);
    d->lock = -1;
}

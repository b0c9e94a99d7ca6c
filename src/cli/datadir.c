/* datadir.c - the data directory: its database, its socket, and the lock on it. */
#include "cli/datadir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/files.h"

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

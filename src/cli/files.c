/* files.c - drafts, and publishing them. */
#include "cli/files.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static int copy_bytes(int from, int to)
{
    static const size_t room = KIB(256);
    char *bytes = mem_new(room);
    ssize_t n = 1;

    while (n > 0) {
        n = read(from, bytes, room);
        for (ssize_t done = 0, wrote; n > 0 && done < n; done += wrote) {
            wrote = write(to, bytes + done, (size_t)(n - done));
            if (wrote < 0) {
                n = -1;
                break;
            }
        }
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

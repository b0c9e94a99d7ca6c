/* log_index.c - a place on the disk for the index of the write-ahead log.
 *
 * The index is a file that is mapped and written as memory. SQLite makes it longer by the last byte
 * of each page, which is all of the page only where a block is no smaller: ext4 of less than 512
 * MiB has blocks of 1 KiB. The rest are holes, and memory that is written over a hole of a full
 * disk ends the process by SIGBUS. So each new part of the index gets its blocks at once, or is
 * refused as the disk refuses a write. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "db/sqlite/sqlite.h"

/* SQLite's own, and ours around them. A file keeps its type: only the tables differ. */
static sqlite3_vfs *inner_vfs, vfs;
static const sqlite3_io_methods *_Atomic inner; /* of every database file */
static sqlite3_io_methods methods;

/* Linux before 5.14 has no call for it: the index stays as SQLite leaves it. */
static bool get_blocks(void volatile *const *part, size_t size)
{
    void *memory;

    memcpy((void *)&memory, (const void *)part, sizeof(memory));
    return madvise(memory, size, MADV_POPULATE_WRITE) == 0 || errno != EFAULT;
}

/* A part that is refused stays mapped by SQLite: asked for again, it is tried again. */
static int map_part(sqlite3_file *file, int part, int size, int longer, void volatile **ret)
{
    int code = atomic_load(&inner)->xShmMap(file, part, size, longer, ret);

    if (code != SQLITE_OK || *ret == NULL || !longer || get_blocks(ret, (size_t)size))
        return code;
    *ret = NULL;
    errno = ENOSPC;
    return SQLITE_IOERR_SHMSIZE;
}

static void fill_methods(void)
{
    methods = *atomic_load(&inner);
    methods.xShmMap = map_part;
}

static int open_file(sqlite3_vfs *ours, const char *name, sqlite3_file *file, int flags, int *ret)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int code = inner_vfs->xOpen(inner_vfs, name, file, flags, ret);

    (void)ours;
    if (code != SQLITE_OK || (flags & SQLITE_OPEN_MAIN_DB) == 0)
        return code;
    assert(file->pMethods->iVersion >= 2 && file->pMethods->xShmMap != NULL);
    atomic_store(&inner, file->pMethods);
    (void)pthread_once(&once, fill_methods);
    assert(methods.xWrite == file->pMethods->xWrite);
    file->pMethods = &methods;
    return SQLITE_OK;
}

static void register_vfs(void)
{
    inner_vfs = sqlite3_vfs_find(NULL);
    assert(inner_vfs != NULL);
    vfs = *inner_vfs;
    vfs.zName = "muster";
    vfs.pNext = NULL;
    vfs.xOpen = open_file;
    (void)sqlite3_vfs_register(&vfs, 1);
}

void db_sqlite_place_index(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, register_vfs);
}

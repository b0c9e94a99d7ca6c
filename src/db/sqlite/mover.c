/* mover.c - the thread that moves the log into the file. */
#include "db/sqlite/mover.h"

#include <assert.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>

#include "base/lock.h"
#include "base/mem.h"
#include "base/thread.h"

struct mover {
    sqlite3 *handle; /* the thread's own, while it runs */
    pthread_t id;

    struct lock lock;
    struct cond changed;
    bool asked GUARDED_BY(lock); /* until it is done */
    bool stopping GUARDED_BY(lock);
    struct move last GUARDED_BY(lock);
};

/* SQLite leaves the sync of the file to who moves the last page. That is the writer, which would
 * then wait for all that was moved here. */
static int sync_file(sqlite3 *handle)
{
    sqlite3_file *file = NULL;
    int code = sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, (void *)&file);

    return code == SQLITE_OK ? file->pMethods->xSync(file, SQLITE_SYNC_NORMAL) : code;
}

static struct move move_log(sqlite3 *handle)
{
    struct move move = { .pages = -1 };

    move.code =
        sqlite3_wal_checkpoint_v2(handle, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, &move.pages);
    if (move.code == SQLITE_OK)
        move.code = sync_file(handle);
    return move;
}

static void *mover_main(void *arg)
{
    struct mover *m = arg;

    thread_begin("muster-mover", THREAD_PLAIN);
    lock_acquire(&m->lock);
    for (;;) {
        struct move move;

        while (!m->asked && !m->stopping)
            cond_wait(&m->changed, &m->lock);
        if (!m->asked)
            break;
        lock_release(&m->lock);
        move = move_log(m->handle);
        lock_acquire(&m->lock);
        m->last = move;
        m->asked = false;
        cond_broadcast(&m->changed);
    }
    lock_release(&m->lock);
    return NULL;
}

/* No checkpoint on close, and none by itself: each is asked for. The read opens the log. */
static int open_file(const char *path, sqlite3 **ret)
{
    int code = sqlite3_open_v2(path, ret, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

    if (code != SQLITE_OK)
        return code;
    (void)sqlite3_extended_result_codes(*ret, 1);
    (void)sqlite3_db_config(*ret, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return sqlite3_exec(*ret,
                        "PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = FULL;"
                        "PRAGMA mmap_size = 0; PRAGMA cache_size = -64;"
                        "SELECT 1 FROM sqlite_schema LIMIT 1",
                        NULL, NULL, NULL);
}

struct mover *mover_new(const char *path)
{
    struct mover *m = NEW(struct mover);

    lock_init(&m->lock);
    cond_init(&m->changed);
    if (open_file(path, &m->handle) == SQLITE_OK &&
        pthread_create(&m->id, NULL, mover_main, m) == 0)
        return m;
    (void)sqlite3_close(m->handle);
    cond_done(&m->changed);
    lock_done(&m->lock);
    free(m);
    return NULL;
}

void mover_begin(struct mover *m)
{
    lock_acquire(&m->lock);
    assert(!m->asked && !m->stopping);
    m->asked = true;
    cond_broadcast(&m->changed);
    lock_release(&m->lock);
}

bool mover_is_done(struct mover *m, struct move *ret)
{
    bool done;

    lock_acquire(&m->lock);
    done = !m->asked;
    *ret = m->last;
    lock_release(&m->lock);
    return done;
}

struct move mover_wait(struct mover *m)
{
    struct move last;

    lock_acquire(&m->lock);
    while (m->asked)
        cond_wait(&m->changed, &m->lock);
    last = m->last;
    lock_release(&m->lock);
    return last;
}

void mover_free(struct mover *m)
{
    int code;

    if (m == NULL)
        return;
    lock_acquire(&m->lock);
    m->stopping = true;
    cond_broadcast(&m->changed);
    lock_release(&m->lock);
    (void)pthread_join(m->id, NULL); /* what it was asked for is done first */
    code = sqlite3_close(m->handle);
    assert(code == SQLITE_OK);
    (void)code;
    cond_done(&m->changed);
    lock_done(&m->lock);
    free(m);
}

/* log.c - keeps the write-ahead log short.
 *
 * The log starts again from its beginning when a write begins while all of it
 * is in the file and no reader uses it. With a reader at every moment that may
 * never happen, so beyond a mark the writer makes it happen: new reads wait,
 * those that have taken a while end, and a RESTART checkpoint waits for the
 * last of them. A reader of another process (a backup) cannot be ended: then
 * the log grows, and the writer tries again later.
 *
 * A checkpoint syncs the log, writes pages to the file and syncs that: ten milliseconds, in which
 * the writer could store nothing. So a thread, the mover, does it on a connection of its own.
 *
 * SQLite before 3.51.3 can corrupt a file when one connection checkpoints at the moment at which
 * another starts the log again from its beginning. That cannot happen here:
 *  1. The log is started again only when all of it is in the file.
 *  2. The mover is asked when that is not so, and nothing else is moved until it is done: the
 *     writer, which asks, checkpoints by itself only when the mover is idle.
 *  3. So from its first look at the log to its last the mover sees the log that the writer saw.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "db/embedded.h"
#include "db/sqlite/sqlite.h"

enum {
    CHECKPOINT_PAGES = 4000, /* about 16 MiB of log between checkpoints */
    REST_PAGES = 256,        /* the writer moves a rest of these by itself: about a millisecond */
    MOVES_MAX = 3,           /* by the mover, before the writer moves whatever is left */
    LOG_PAGE = 4096 + 24,    /* bytes in the log, with its header */
    LOG_PAGES_LEAST = 64,
    RESTART_WAIT_US = 2000000, /* for readers to leave the log */
    HURRIED_US = 500000,       /* while the writer waits, a reader's transaction has so long */
    PAUSE_MS = 1,
};

/* The writer waits for readers to leave the log. One for the process, which serves one database. */
static atomic_bool writer_waits;

bool db_sqlite_may_start_reading(const struct sqlite *s)
{
    while (atomic_load(&writer_waits)) { /* for RESTART_WAIT_US at most */
        if (s->until_us != 0)
            return false;
        (void)sqlite3_sleep(PAUSE_MS);
    }
    return true;
}

bool db_sqlite_is_hurried(int64_t reading_us)
{
    return reading_us > HURRIED_US && atomic_load_explicit(&writer_waits, memory_order_relaxed);
}

/* Three quarters of the ceiling: the rest is for the transaction that passes the mark. */
static int mark_of(const struct sqlite *s)
{
    return s->log_max_pages / 4 * 3;
}

static int checkpoint_pages(const struct sqlite *s)
{
    int part = s->log_max_pages / 8;

    return s->log_max_pages > 0 && part < CHECKPOINT_PAGES ? part : CHECKPOINT_PAGES;
}

void db_set_log_max(struct db *db, int64_t bytes)
{
    struct sqlite *s = db->file;
    int64_t pages = bytes / LOG_PAGE, limit = bytes / 2;
    char sql[64];

    if (s == NULL)
        return;
    assert(s->mode == DB_WRITER && bytes >= 0);
    if (bytes > 0 && pages < LOG_PAGES_LEAST)
        pages = LOG_PAGES_LEAST;
    s->log_max_pages = pages > INT_MAX ? INT_MAX : (int)pages;
    s->restart_at = mark_of(s);
    if (limit <= 0 || limit > JOURNAL_SIZE_LIMIT)
        limit = JOURNAL_SIZE_LIMIT;
    (void)sqlite3_snprintf(sizeof(sql), sql, "PRAGMA journal_size_limit = %lld", (long long)limit);
    (void)sqlite3_exec(s->handle, sql, NULL, NULL, NULL);
}

/* --- the mover --- */

/* What the mover was last asked to do. */
struct move {
    int code;  /* SQLite's */
    int pages; /* of the log, from its beginning, that are in the file; -1: unknown */
};

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

/* For this file; NULL when its connection or thread cannot be had. */
static struct mover *mover_new(const char *path)
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

/* Asks the mover to copy the current contents of the log. The mover must be idle. */
static void mover_begin(struct mover *m)
{
    lock_acquire(&m->lock);
    assert(!m->asked && !m->stopping);
    m->asked = true;
    cond_broadcast(&m->changed);
    lock_release(&m->lock);
}

/* Is the mover idle again? Then *ret is the result of the last move. */
static bool mover_is_done(struct mover *m, struct move *ret)
{
    bool done;

    lock_acquire(&m->lock);
    done = !m->asked;
    *ret = m->last;
    lock_release(&m->lock);
    return done;
}

static struct move mover_wait(struct mover *m)
{
    struct move last;

    lock_acquire(&m->lock);
    while (m->asked)
        cond_wait(&m->changed, &m->lock);
    last = m->last;
    lock_release(&m->lock);
    return last;
}

void db_sqlite_free_mover(struct sqlite *s)
{
    struct mover *m = s->mover;
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

/* --- when it is asked --- */

/* Only an I/O error is a failure: after any other the commits are durable in the log, and a later
 * checkpoint tries again. */
static int fail_checkpoint(struct sqlite *s, int code, struct error *err)
{
    struct error why;

    db_sqlite_fail(s, code, &why);
    return why.code == ERR_IO ? err_set(err, ERR_IO, "checkpoint failed: %s", why.text) : 0;
}

/* The same of the mover, whose connection is not ours: its message is lost, its code is not. */
static int fail_mover(struct sqlite *s, int code, struct error *err)
{
    if ((code & 0xff) != SQLITE_IOERR && (code & 0xff) != SQLITE_CORRUPT)
        return 0;
    s->broken = true;
    return err_set(err, ERR_IO, "checkpoint failed: SQLite: %s (%d)", sqlite3_errstr(code), code);
}

/* On the writer's own connection; the mover must be idle. */
static int move_here(struct sqlite *s, struct error *err)
{
    int code = sqlite3_wal_checkpoint_v2(s->handle, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);

    assert(s->moves == 0);
    if (code != SQLITE_OK && fail_checkpoint(s, code, err) != 0)
        return -1;
    s->checkpointed_at = s->log_pages;
    return 0;
}

/* Asks the mover to copy the latest commits to the file. False: no mover is running, and none could
 * be started. */
static bool ask_mover(struct sqlite *s)
{
    if (s->log_fd < 0) /* each commit waits for its sync: a mover would save nothing */
        return false;
    if (s->mover == NULL)
        s->mover = mover_new(sqlite3_db_filename(s->handle, "main"));
    if (s->mover == NULL)
        return false;
    mover_begin(s->mover);
    s->moves++;
    s->asked_at = s->log_pages;
    return true;
}

/* The mover has copied the log as it was when it began; commits since then have added to it. The
 * log restarts only when all of it is copied, so the writer copies the rest, unless that is a
 * lot. */
static int end_move(struct sqlite *s, const struct move *move, struct error *err)
{
    const int moves = s->moves;

    s->moves = 0;
    if (move->code != SQLITE_OK && fail_mover(s, move->code, err) != 0)
        return -1;
    if (move->code == SQLITE_OK && s->log_pages < move->pages) { /* all: it has begun again since */
        s->checkpointed_at = 0;
        s->restart_at = mark_of(s);
        return 0;
    }
    if (move->code == SQLITE_OK && s->log_pages == move->pages) { /* all: it begins again next */
        s->checkpointed_at = s->log_pages;
        return 0;
    }
    if (move->code == SQLITE_OK && s->log_pages - s->asked_at > REST_PAGES && moves < MOVES_MAX &&
        ask_mover(s)) {
        s->moves += moves;
        return 0;
    }
    return move_here(s, err);
}

int db_sqlite_await_mover(struct sqlite *s, struct error *err)
{
    struct move move;

    if (s->moves == 0)
        return 0;
    move = mover_wait(s->mover);
    s->moves = 0;
    return move.code != SQLITE_OK ? fail_mover(s, move.code, err) : 0;
}

int db_sqlite_after_commit(struct sqlite *s, struct error *err)
{
    struct move move;

    assert(s->mode == DB_WRITER);
    s->log_grew = false;
    if (s->moves > 0)
        return mover_is_done(s->mover, &move) ? end_move(s, &move, err) : 0;
    if (s->log_pages < s->checkpointed_at) { /* the log was restarted */
        s->checkpointed_at = 0;
        s->restart_at = mark_of(s);
    }
    /* Counted from the last one: while a long reader pins the log, each commit would sync twice. */
    if (s->log_pages - s->checkpointed_at < checkpoint_pages(s))
        return 0;
    return ask_mover(s) ? 0 : move_here(s, err);
}

/* SQLite's own pauses grow to 100 ms. */
static int wait_for_readers(void *ctx, int n_before)
{
    const struct sqlite *s = ctx;

    (void)n_before;
    (void)sqlite3_sleep(PAUSE_MS);
    return clock_raw_us() < s->restart_until_us;
}

int db_sqlite_before_write(struct sqlite *s, struct error *err)
{
    int code;

    assert(s->mode == DB_WRITER);
    if (s->log_max_pages == 0 || s->log_pages < s->restart_at || !sqlite3_get_autocommit(s->handle))
        return 0;
    if (db_sqlite_await_mover(s, err) != 0)
        return -1;
    s->restart_until_us = clock_raw_us() + RESTART_WAIT_US;
    (void)sqlite3_busy_handler(s->handle, wait_for_readers, s);
    atomic_store(&writer_waits, true);
    code = sqlite3_wal_checkpoint_v2(s->handle, NULL, SQLITE_CHECKPOINT_RESTART, NULL, NULL);
    atomic_store(&writer_waits, false);
    (void)sqlite3_busy_timeout(s->handle, SQLITE_BUSY_TIMEOUT_MS);
    if (code != SQLITE_OK) {
        s->restart_at = s->log_pages + s->log_pages / 2;
        return fail_checkpoint(s, code, err);
    }
    s->log_pages = s->checkpointed_at = 0; /* the next commit is the first in it */
    s->restart_at = mark_of(s);
    return 0;
}

/* Commits are written in order, and each frame's checksum covers those before it: whatever a sync
 * that began later has not reached, what is before it stays readable. SQLite itself still syncs the
 * log before it moves pages, the file after, and the head of a restarted log. */
int db_defer_sync(struct db *db, struct error *err)
{
    struct sqlite *s = db->file;
    const char *path = sqlite3_filename_wal(sqlite3_db_filename(s->handle, "main"));

    assert(s->mode == DB_WRITER && s->log_fd < 0);
    s->log_fd = open(path, O_RDWR | O_CLOEXEC);
    if (s->log_fd < 0)
        return err_set(err, ERR_IO, "cannot open %s: %s", path, strerror(errno));
    if (sqlite3_exec(s->handle, "PRAGMA synchronous = NORMAL", NULL, NULL, NULL) == SQLITE_OK)
        return 0;
    (void)close(s->log_fd);
    s->log_fd = -1;
    return db_sqlite_fail(s, sqlite3_errcode(s->handle), err);
}

int db_sqlite_sync(struct db *db, struct error *err)
{
    const struct sqlite *s = (const struct sqlite *)db;

    assert(s->log_fd >= 0);
    if (fdatasync(s->log_fd) == 0)
        return 0;
    return err_set(err, ERR_IO, "cannot sync the write-ahead log: %s", strerror(errno));
}

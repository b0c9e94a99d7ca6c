/* log.c - keeps the write-ahead log short.
 *
 * The log starts again from its beginning when a write begins while all of it
 * is in the file and no reader uses it. With a reader at every moment that may
 * never happen, so beyond a mark the writer makes it happen: new reads wait,
 * those that have taken a while end, and a RESTART checkpoint waits for the
 * last of them. A reader of another process (a backup) cannot be ended: then
 * the log grows, and the writer tries again later.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/clock.h"
#include "db/sqlite/mover.h"
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

void db_sqlite_set_log_max(struct sqlite *s, int64_t bytes)
{
    int64_t pages = bytes / LOG_PAGE, limit = bytes / 2;
    char sql[64];

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

/* What was committed last is not in the file (mover.h). False: there is no mover, and cannot be one
 * now. */
static bool ask_mover(struct sqlite *s)
{
    if (s->log_fd < 0) /* a commit waits for its sync: there is nothing to do meanwhile */
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

/* The mover has moved what was in the log when it looked; more has come since. The log starts again
 * only when all of it is moved, so the writer moves the rest, unless that is much. */
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
int db_sqlite_defer_sync(struct db *db, struct error *err)
{
    struct sqlite *s = (struct sqlite *)db;
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

/* sqlite.c - the embedded store: one file, one writer, readers beside it.
 *
 * 1. One connection writes and checkpoints, or has its mover do that (log.c). SQLite before
 *    3.51.3 can corrupt a file when two do so at once, so readers are read-only, and there is
 *    no checkpoint on close and no automatic one.
 * 2. A commit is synced (WAL, synchronous=FULL) before it returns; after db_defer_sync() it is
 *    written when it returns, and synced by db_sync().
 * 3. After an I/O error the writer refuses everything: Linux forgets that pages
 *    were not written, so a second try would succeed without being durable.
 */
#include "db/sqlite/sqlite.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "db/embedded.h"

enum {
    ROLLBACK_TRIES = 3,
    READ_MAX_US = 5000000,         /* for one statement of a reader */
    TRANSACTION_MAX_US = 10000000, /* for all statements of a reader's transaction */
    READ_CHECK_STEPS = 1000,       /* of SQLite's virtual machine between two checks: about 20 us */
    KEEP_CHECK_STEPS = 20000,
    WAL_TRIES = 200, /* of WAL_RETRY_MS each */
    WAL_RETRY_MS = 10,
};

static struct sqlite *sqlite_of(struct db *db)
{
    return (struct sqlite *)db;
}

static int on_commit(void *ctx, sqlite3 *handle, const char *schema, int log_pages)
{
    struct sqlite *s = ctx;

    (void)handle;
    (void)schema;
    s->log_pages = log_pages;
    s->log_grew = true;
    return SQLITE_OK;
}

static void sqlite_close(struct db *db)
{
    struct sqlite *s = sqlite_of(db);
    int code;

    db_sqlite_free_mover(s);
    db_sqlite_forget_statements(s);
    code = sqlite3_close(s->handle);
    assert(code == SQLITE_OK); /* else a statement is still open, and the handle leaks */
    (void)code;
    if (s->log_fd >= 0)
        (void)close(s->log_fd); /* the log has no locks that this could drop */
    free(s);
}

/* SQLite rolls back by itself after some errors. ROLLBACK may run out of memory: tries a few times,
 * and leaves the rest to db_sqlite_unstick().
 */
static void sqlite_rollback(struct db *db)
{
    struct sqlite *s = sqlite_of(db);

    for (int tries = 0; tries < ROLLBACK_TRIES && !sqlite3_get_autocommit(s->handle); tries++)
        (void)sqlite3_exec(s->handle, "ROLLBACK", NULL, NULL, NULL);
    s->stuck = !sqlite3_get_autocommit(s->handle);
}

bool db_sqlite_unstick(struct sqlite *s)
{
    if (s->stuck)
        sqlite_rollback(&s->base);
    return !s->stuck;
}

static int sqlite_begin(struct db *db, struct error *err)
{
    static const struct db_query write = { .sql = "BEGIN IMMEDIATE" };
    static const struct db_query read = { .sql = "BEGIN" };
    static const struct db_query look = { .sql = "SELECT 1 FROM sqlite_schema LIMIT 1" };
    struct sqlite *s = sqlite_of(db);
    const bool outside = db_sqlite_unstick(s) && sqlite3_get_autocommit(s->handle);

    if (s->mode == DB_WRITER) {
        if (!s->broken && s->log_grew && db_sqlite_after_commit(s, err) != 0)
            return -1;
        if (!s->broken && db_sqlite_before_write(s, err) != 0)
            return -1;
        return db_sqlite_exec(db, &write, DB_NO_ARGS, NULL, NULL, err);
    }
    if (outside && !db_sqlite_may_start_reading(s))
        return err_set(err, ERR_BUSY, "the log is being restarted");
    if (outside)
        s->transaction_us = clock_raw_us();
    /* The view is fixed by the first read, not by BEGIN. */
    if (db_sqlite_exec(db, &read, DB_NO_ARGS, NULL, NULL, err) == 0 &&
        db_sqlite_exec(db, &look, DB_NO_ARGS, NULL, NULL, err) == 0)
        return 0;
    if (outside) /* also after BEGIN: SQLite checks the deadline once more after it */
        sqlite_rollback(db);
    return -1;
}

static int sqlite_commit(struct db *db, struct error *err)
{
    static const struct db_query commit = { .sql = "COMMIT" };

    if (db_sqlite_exec(db, &commit, DB_NO_ARGS, NULL, NULL, err) != 0)
        return -1;
    ASSERT_ALWAYS(sqlite3_get_autocommit(sqlite_of(db)->handle)); /* 2: it did commit */
    return 0;
}

static int run_script(struct sqlite *s, const char *sql, struct error *err)
{
    int code;

    if (s->broken)
        return db_sqlite_refuse(err);
    s->began_us = clock_raw_us();
    code = sqlite3_exec(s->handle, sql, NULL, NULL, NULL);
    if (code != SQLITE_OK)
        return db_sqlite_fail(s, code, err);
    return s->log_grew && s->log_fd < 0 ? db_sqlite_after_commit(s, err) : 0;
}

static int sqlite_script(struct db *db, const char *sql, struct error *err)
{
    return run_script(sqlite_of(db), sql, err);
}

static int sqlite_ping(struct db *db, struct error *err)
{
    return run_script(sqlite_of(db), "SELECT 1 FROM sqlite_schema LIMIT 1", err);
}

static int checkpoint(struct sqlite *s, struct error *err)
{
    int code;

    if (s->broken)
        return db_sqlite_refuse(err);
    if (s->mode != DB_WRITER)
        return err_set(err, ERR_INTERNAL, "only the writer checkpoints");
    if (db_sqlite_await_mover(s, err) != 0)
        return -1;
    code = sqlite3_wal_checkpoint_v2(s->handle, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    if (code != SQLITE_OK)
        return db_sqlite_fail(s, code, err);
    s->log_pages = s->checkpointed_at = 0; /* the next commit is the first in it */
    s->log_grew = false;
    return 0;
}

int db_checkpoint(struct db *db, struct error *err)
{
    if (db->file == NULL)
        return 0;
    db_begin_use(db);
    return db_end_use(db, checkpoint(db->file, err));
}

/* Ends a maintenance statement that is no longer wanted. */
static int is_unwanted(void *ctx)
{
    const struct sqlite *s = ctx;

    return s->go_on != NULL && !s->go_on(s->go_on_ctx);
}

void db_watch(struct db *db, bool (*go_on)(void *ctx), void *ctx)
{
    if (db->file == NULL)
        return;
    db->file->go_on = go_on;
    db->file->go_on_ctx = ctx;
}

bool db_set_deadline(struct db *db, int64_t until_us)
{
    struct sqlite *s = db->file;

    assert(until_us >= 0 && !atomic_load_explicit(&db->in_use, memory_order_relaxed));
    if (s == NULL || s->mode != DB_READER)
        return false;
    s->until_us = until_us;
    s->given = 0;
    (void)sqlite3_busy_timeout(s->handle, until_us == 0 ? SQLITE_BUSY_TIMEOUT_MS : 0);
    return true;
}

bool db_has_deadline(const struct db *db)
{
    return db->file != NULL && db->file->until_us != 0;
}

static const struct db_driver driver = {
    .dialect = "sqlite",
    .close = sqlite_close,
    .begin = sqlite_begin,
    .commit = sqlite_commit,
    .rollback = sqlite_rollback,
    .exec = db_sqlite_exec,
    .script = sqlite_script,
    .sync = db_sqlite_sync,
};

/* Smallest attack surface: what our own SQL does not need is off, and sizes are bounded. */
static void harden(sqlite3 *handle)
{
    static const struct {
        int option, value;
    } options[] = {
        { SQLITE_DBCONFIG_DEFENSIVE, 1 },
        { SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
        { SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
        { SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0 },
        { SQLITE_DBCONFIG_DQS_DML, 0 },
        { SQLITE_DBCONFIG_DQS_DDL, 0 },
        { SQLITE_DBCONFIG_ENABLE_FKEY, 1 },
        { SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1 },
    };
    static const struct {
        int limit, value;
    } limits[] = {
        { SQLITE_LIMIT_LENGTH, (int)MIB(64) },
        { SQLITE_LIMIT_SQL_LENGTH, (int)MIB(1) },
        { SQLITE_LIMIT_COLUMN, 200 },
        { SQLITE_LIMIT_EXPR_DEPTH, 100 },
        { SQLITE_LIMIT_COMPOUND_SELECT, 50 },
        { SQLITE_LIMIT_FUNCTION_ARG, 100 },
        { SQLITE_LIMIT_ATTACHED, 1 }, /* VACUUM INTO needs one */
        { SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 4096 },
        { SQLITE_LIMIT_VARIABLE_NUMBER, 4096 },
        { SQLITE_LIMIT_TRIGGER_DEPTH, 10 },
        { SQLITE_LIMIT_WORKER_THREADS, 0 },
    };

    for (size_t i = 0; i < COUNT_OF(options); i++)
        (void)sqlite3_db_config(handle, options[i].option, options[i].value, NULL);
    for (size_t i = 0; i < COUNT_OF(limits); i++)
        (void)sqlite3_limit(handle, limits[i].limit, limits[i].value);
}

/* uuid_text(BLOB): NULL for anything else than 16 bytes. */
static void print_uuid(sqlite3_context *context, int n, sqlite3_value **values)
{
    char text[UUID_TEXT_LEN];

    assert(n == 1);
    (void)n;
    if (sqlite3_value_type(values[0]) != SQLITE_BLOB ||
        sqlite3_value_bytes(values[0]) != UUID_BYTES)
        return;
    uuid_format(sqlite3_value_blob(values[0]), text);
    sqlite3_result_text(context, text, sizeof(text), SQLITE_TRANSIENT);
}

static int add_functions(struct sqlite *s, struct error *err)
{
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    int code = sqlite3_create_function_v2(s->handle, "uuid_text", 1, flags, NULL, print_uuid, NULL,
                                          NULL, NULL);

    return code == SQLITE_OK ? 0 : db_sqlite_fail(s, code, err);
}

static int read_text(void *ctx, int n, char **values, char **names)
{
    (void)names;
    if (n == 1 && values[0] != NULL)
        (void)sqlite3_snprintf(16, ctx, "%s", values[0]);
    return 0;
}

/* Changing the journal mode does not wait for locks; another process may be starting too. */
static int enter_wal(struct sqlite *s, const char *path, struct error *err)
{
    char mode[16] = "";
    int code;

    for (int i = 0;; i++) {
        code = sqlite3_exec(s->handle, "PRAGMA journal_mode = WAL", read_text, mode, NULL);
        if ((code & 0xff) != SQLITE_BUSY || i == WAL_TRIES)
            break;
        (void)sqlite3_sleep(WAL_RETRY_MS);
    }
    if (code != SQLITE_OK)
        return db_sqlite_fail(s, code, err);
    if (strcmp(mode, "wal") != 0)
        return err_set(err, ERR_SCHEMA, "%s does not support a write-ahead log, only '%s'", path,
                       mode);
    return 0;
}

bool db_sqlite_is_over_time(const struct sqlite *s, int64_t now_us)
{
    const bool outside = sqlite3_get_autocommit(s->handle);
    const int64_t since_us = outside ? s->began_us : s->transaction_us;

    return now_us - s->began_us > READ_MAX_US || now_us - since_us > TRANSACTION_MAX_US ||
           (s->base.read_max_us != 0 && now_us - since_us > s->base.read_max_us) ||
           db_sqlite_is_hurried(now_us - since_us) || db_sqlite_is_late(s, now_us);
}

/* Ends a read that takes too long: other reads wait for its thread, and the writer for the log. */
static int is_over_time(void *ctx)
{
    return db_sqlite_is_over_time(ctx, clock_raw_us());
}

static int configure(struct sqlite *s, const char *path, struct error *err)
{
    static const char *const common =
        "PRAGMA mmap_size = 0; PRAGMA cell_size_check = ON; PRAGMA wal_autocheckpoint = 0";
    static const char *const modes[] = {
        [DB_WRITER] = ("PRAGMA synchronous = FULL; PRAGMA cache_size = -24576;"
                       "PRAGMA secure_delete = FAST; PRAGMA journal_size_limit = "
                       "67108864"), /* JOURNAL_SIZE_LIMIT
                                     */
        [DB_READER] = "PRAGMA query_only = ON; PRAGMA cache_size = -8192",
        [DB_MAINTENANCE] = "PRAGMA cache_size = -16384", /* opened read-only; VACUUM
                                                            INTO writes a file */
    };

    (void)sqlite3_extended_result_codes(s->handle, 1);
    (void)sqlite3_busy_timeout(s->handle, SQLITE_BUSY_TIMEOUT_MS);
    harden(s->handle);
    if (add_functions(s, err) != 0 || run_script(s, common, err) != 0)
        return -1;
    if (s->mode == DB_WRITER && enter_wal(s, path, err) != 0)
        return -1;
    if (run_script(s, modes[s->mode], err) != 0)
        return -1;
    if (s->mode == DB_READER)
        sqlite3_progress_handler(s->handle, READ_CHECK_STEPS, is_over_time, s);
    if (s->mode == DB_MAINTENANCE)
        sqlite3_progress_handler(s->handle, KEEP_CHECK_STEPS, is_unwanted, s);
    /* After the pragma, which removes the hook. */
    (void)sqlite3_wal_hook(s->handle, on_commit, s);
    return sqlite_ping(&s->base, err); /* reads the file: is it a database? */
}

/* Readable by this user only; the log gets the same mode. By mknod, since closing a descriptor of
 * the file would drop the locks that this process holds on it. */
static int create_file(const char *path, struct error *err)
{
    enum err_code code;

    if (mknod(path, S_IFREG | S_IRUSR | S_IWUSR, 0) == 0 || errno == EEXIST)
        return 0;
    code = errno == ENOSPC || errno == EDQUOT ? ERR_FULL : ERR_UNAVAILABLE;
    return err_set(err, code, "cannot create %s: %s", path, strerror(errno));
}

/* Counting SQLite's memory would make all threads take one lock each time. */
static void count_no_memory(void)
{
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

int db_sqlite_open(const char *path, enum db_mode mode, struct db **ret, struct error *err)
{
    const int flags = mode == DB_WRITER ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct sqlite *s;
    size_t size;
    char *file;
    int r = -1, code;

    (void)pthread_once(&once, count_no_memory);
    db_sqlite_place_index();
    if (path[0] == '\0')
        return err_set(err, ERR_INVALID, "sqlite: needs a file path after the colon");
    /* So that neither "file:x?vfs=y" nor ":memory:" is special. */
    size = strlen(path) + sizeof("./");
    file = mem_alloc(size);
    (void)snprintf(file, size, "%s%s", path[0] == '/' ? "" : "./", path);
    s = NEW(struct sqlite);
    s->base.driver = &driver;
    s->base.file = s;
    s->mode = mode == DB_POOLED ? DB_READER : mode;
    s->log_fd = -1;
    assert(s->mode == DB_WRITER || s->mode == DB_READER || s->mode == DB_MAINTENANCE);
    if (mode == DB_WRITER && create_file(file, err) != 0)
        goto out;
    code = sqlite3_open_v2(file, &s->handle, flags | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK) {
        err_set(err, ERR_UNAVAILABLE, "cannot open %s: %s (%s)", path, sqlite3_errmsg(s->handle),
                strerror(sqlite3_system_errno(s->handle)));
        goto out;
    }
    r = configure(s, path, err);
    if (r == 0)
        *ret = &s->base;
    else
        err_wrap(err, "cannot use %s", path);
out:
    free(file);
    if (r != 0)
        sqlite_close(&s->base);
    return r;
}

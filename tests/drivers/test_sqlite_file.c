/* test_sqlite_file.c - the file, its log, its lock, and disks that fail. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/embedded.h"
#include "db/sqlite/sqlite.h"
#include "suite.h"

static const struct db_query insert = { .sql = "INSERT INTO item (id, body) VALUES ($1, $2)" };
static const struct db_query count = { .sql = "SELECT COUNT(*) FROM item" };

static int add(struct db *db, int64_t id, struct str body, struct error *err)
{
    return db_exec(db, &insert, DB_ARGS(db_int(id), db_text(body)), NULL, NULL, err);
}

static struct db *open_items(const char **ret_url)
{
    struct db *db;

    *ret_url = suite_new_database();
    db = suite_open(*ret_url, DB_WRITER);
    suite_script(db, "CREATE TABLE item (id INTEGER PRIMARY KEY, body TEXT NOT NULL)");
    return db;
}

/* -1 when there is none. */
static long size_of(const char *url, const char *suffix)
{
    char path[128];
    struct stat st;

    (void)snprintf(path, sizeof(path), "%s%s", url + strlen("sqlite:"), suffix);
    return stat(path, &st) == 0 ? (long)st.st_size : -1;
}

TEST(the_files_are_for_their_owner_alone)
{
    static const char *const suffixes[] = { "", "-wal", "-shm" };
    mode_t before = umask(0);
    const char *url;
    struct db *db = open_items(&url);

    for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
        char path[128];
        struct stat st;

        (void)snprintf(path, sizeof(path), "%s%s", url + strlen("sqlite:"), suffixes[i]);
        CHECK(stat(path, &st) == 0);
        CHECK_INT(st.st_mode & 0777, 0600);
    }
    (void)umask(before);
    db_close(db);
}

static bool read_text(void *ctx, const struct db_row *row)
{
    CHECK_STR(db_get_text(row, 0), ctx);
    return true;
}

TEST(the_settings_that_make_it_safe_are_in_force)
{
    static const struct {
        struct db_query query;
        const char *writer, *reader;
    } rows[] = {
        { { .sql = "PRAGMA journal_mode" }, "wal", "wal" },
        { { .sql = "PRAGMA synchronous" }, "2", "2" },
        { { .sql = "PRAGMA foreign_keys" }, "1", "1" },
        { { .sql = "PRAGMA trusted_schema" }, "0", "0" },
        { { .sql = "PRAGMA cell_size_check" }, "1", "1" },
        { { .sql = "PRAGMA wal_autocheckpoint" }, "0", "0" },
        { { .sql = "PRAGMA query_only" }, "0", "1" },
        { { .sql = "PRAGMA mmap_size" }, "0", "0" },
    };
    const char *url;
    struct db *writer = open_items(&url), *reader = suite_open(url, DB_READER);
    static const struct db_query extension = { .sql = "SELECT load_extension('x')" };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char expected[2][8];

        (void)snprintf(expected[0], sizeof(expected[0]), "%s", rows[i].writer);
        (void)snprintf(expected[1], sizeof(expected[1]), "%s", rows[i].reader);
        CHECK(db_exec(writer, &rows[i].query, DB_NO_ARGS, read_text, expected[0], NULL) == 0);
        CHECK(db_exec(reader, &rows[i].query, DB_NO_ARGS, read_text, expected[1], NULL) == 0);
    }
    CHECK(db_exec(writer, &extension, DB_NO_ARGS, NULL, NULL, NULL) != 0);
    db_close(reader);
    db_close(writer);
}

TEST(a_reader_does_not_create_and_a_name_is_only_a_name)
{
    struct error err = { 0 };
    struct db *db = NULL;

    CHECK(db_open("sqlite:/nonexistent/x.db", DB_WRITER, &db, &err) != 0);
    CHECK_INT(err.code, ERR_UNAVAILABLE);
    CHECK(strstr(err.text, "/nonexistent/x.db") != NULL);
    CHECK(db_open(suite_new_database(), DB_READER, &db, &err) != 0);
    CHECK_INT(err.code, ERR_UNAVAILABLE);
    /* Neither in memory nor a URI: a missing file of that name. */
    CHECK(db_open("sqlite::memory:", DB_READER, &db, &err) != 0);
    CHECK(db_open("sqlite:file:x?mode=memory", DB_READER, &db, &err) != 0);
    CHECK(db == NULL);
}

TEST(a_file_that_is_no_database_is_refused)
{
    const char *url = suite_new_database();
    FILE *file = fopen(url + strlen("sqlite:"), "we");
    struct error err = { 0 };
    struct db *db = NULL;

    if (file == NULL) {
        fail_msg("cannot write %s", url);
        return;
    }
    for (int i = 0; i < 1000; i++)
        (void)fputs("this is not a database\n", file);
    (void)fclose(file);
    CHECK(db_open(url, DB_WRITER, &db, &err) != 0);
    CHECK_INT(err.code, ERR_IO);
    CHECK(strstr(err.text, "not a database") != NULL);
}

TEST(a_checkpoint_empties_the_log_and_closing_does_not)
{
    const char *url;
    struct db *db = open_items(&url);

    CHECK(add(db, 1, STR_LIT("a"), NULL) == 0);
    CHECK(size_of(url, "-wal") > 0);
    CHECK(db_checkpoint(db, NULL) == 0);
    CHECK_INT(size_of(url, "-wal"), 0);
    CHECK(add(db, 2, STR_LIT("b"), NULL) == 0);
    db_close(db);
    CHECK(size_of(url, "-wal") > 0); /* a close has no way to tell that its sync failed */
    db = suite_open(url, DB_WRITER);
    CHECK_INT(suite_int(db, &count), 2);
    db_close(db);
}

TEST(only_the_writer_checkpoints)
{
    const char *url;
    struct db *writer = open_items(&url), *reader = suite_open(url, DB_READER);

    CHECK(db_checkpoint(reader, NULL) != 0);
    CHECK_INT(suite_int(reader, &count), 0);
    db_close(writer);
    db_close(reader); /* the last one out leaves the log alone */
    CHECK(size_of(url, "-wal") > 0);
}

TEST(the_log_does_not_grow_for_ever)
{
    static char body[40000];
    const char *url;
    struct db *db = open_items(&url);

    memset(body, 'x', sizeof(body));
    for (int i = 0; i < 30; i++) { /* about 60 MB in all */
        CHECK(db_begin(db, NULL) == 0);
        for (int k = 0; k < 50; k++)
            CHECK(add(db, i * 50 + k, str_from(body, sizeof(body)), NULL) == 0);
        CHECK(db_commit(db, NULL) == 0);
    }
    CHECK(size_of(url, "-wal") < (long)MIB(24));
    CHECK(size_of(url, "") > (long)MIB(30));
    db_close(db);
}

TEST(a_second_writer_waits_and_then_is_told_busy)
{
    const char *url;
    struct db *one = open_items(&url), *two = suite_open(url, DB_WRITER);
    struct error err = { 0 };

    (void)sqlite3_busy_timeout(((struct sqlite *)two)->handle, 20);
    CHECK(db_begin(one, NULL) == 0);
    CHECK(db_begin(two, &err) != 0);
    CHECK_INT(err.code, ERR_BUSY);
    db_rollback(two);
    db_rollback(one);
    CHECK(db_begin(two, NULL) == 0);
    db_rollback(two);
    db_close(two);
    db_close(one);
}

/* The methods of a file, with the real ones behind. */
struct disk_methods {
    sqlite3_io_methods ours;
    const sqlite3_io_methods *real;
};

/* A VFS whose files are the real ones but for one call that fails. */
static struct {
    sqlite3_vfs vfs;
    sqlite3_vfs *real;
    struct disk_methods
        methods[4];          /* the real VFS has a set for files with locks and one without */
    int syncs, writes, maps; /* calls before the one that fails; -1: none */
    int code, system_errno;
    bool fired;
} disk;

static const sqlite3_io_methods *real_of(sqlite3_file *file)
{
    return ((const struct disk_methods *)file->pMethods)->real;
}

static bool fails(int *countdown)
{
    bool now = *countdown == 0;

    if (*countdown >= 0)
        --*countdown;
    if (now) /* only then: the thread that moves the log comes here too */
        disk.fired = true;
    return now;
}

static int disk_write(sqlite3_file *file, const void *data, int n, sqlite3_int64 at)
{
    return fails(&disk.writes) ? disk.code : real_of(file)->xWrite(file, data, n, at);
}

static int disk_sync(sqlite3_file *file, int flags)
{
    return fails(&disk.syncs) ? disk.code : real_of(file)->xSync(file, flags);
}

static int disk_map(sqlite3_file *file, int page, int size, int extend, void volatile **ret)
{
    return fails(&disk.maps) ? disk.code : real_of(file)->xShmMap(file, page, size, extend, ret);
}

static int disk_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                     int *ret_flags)
{
    int code = disk.real->xOpen(disk.real, name, file, flags, ret_flags);
    struct disk_methods *m = disk.methods;

    (void)vfs;
    if (code != SQLITE_OK)
        return code;
    while (m->real != NULL && m->real != file->pMethods)
        CHECK(++m < disk.methods + COUNT_OF(disk.methods));
    m->real = file->pMethods;
    m->ours = *file->pMethods;
    m->ours.xWrite = disk_write;
    m->ours.xSync = disk_sync;
    if (m->real->xShmMap != NULL)
        m->ours.xShmMap = disk_map;
    file->pMethods = &m->ours;
    return SQLITE_OK;
}

static int disk_errno(sqlite3_vfs *vfs, int n, char *text)
{
    (void)vfs;
    (void)n;
    (void)text;
    return disk.system_errno;
}

static void disk_begin(void)
{
    (void)sqlite3_vfs_unregister(&disk.vfs); /* a failed test has not */
    db_sqlite_place_index();                 /* the program's own is below */
    disk.real = sqlite3_vfs_find(NULL);
    disk.vfs = *disk.real;
    disk.vfs.zName = "faulty";
    disk.vfs.pNext = NULL;
    disk.vfs.xOpen = disk_open;
    disk.vfs.xGetLastError = disk_errno;
    disk.syncs = disk.writes = disk.maps = -1;
    disk.fired = false;
    CHECK(sqlite3_vfs_register(&disk.vfs, 1) == SQLITE_OK);
}

static void disk_end(void)
{
    (void)sqlite3_vfs_unregister(&disk.vfs);
}

/* Three commits of one row each, then a checkpoint; returns how many commits were acknowledged and
 * leaves the first error in `err`. */
static int work(struct db *db, struct error *err)
{
    int acknowledged = 0;

    for (int i = 0; i < 3; i++) {
        if (db_begin(db, err) == 0 && add(db, i, STR_LIT("row"), err) == 0 &&
            db_commit(db, err) == 0) {
            acknowledged++;
            continue;
        }
        db_rollback(db);
        return acknowledged;
    }
    (void)!db_checkpoint(db, err);
    return acknowledged;
}

TEST(a_failed_sync_is_never_a_success_and_never_retried)
{
    int fired = 0;
    bool clean = false;

    for (int nth = 0; !clean; nth++) {
        struct error err = { 0 }, later = { 0 };
        const char *url;
        struct db *db;

        disk_begin();
        db = open_items(&url);
        disk.syncs = nth;
        disk.code = SQLITE_IOERR_FSYNC;
        disk.system_errno = nth % 2 == 0 ? EIO : ENOSPC; /* at a sync even that is in doubt */
        work(db, &err);
        clean = !disk.fired;
        fired += disk.fired;
        disk.syncs = -1;
        CHECK_INT(err.code, clean ? ERR_NONE : ERR_IO);
        CHECK((db_begin(db, &later) == 0) == clean);
        CHECK_INT(later.code, clean ? ERR_NONE : ERR_IO);
        db_rollback(db);
        db_close(db);
        disk_end();
        CHECK(nth < 100);
    }
    CHECK(fired >= 5); /* three commits, then the log and the file at the checkpoint */
}

TEST(a_full_disk_loses_nothing_and_work_goes_on_when_there_is_room)
{
    int fired = 0;
    bool clean = false;

    for (int nth = 0; !clean; nth++) {
        struct error err = { 0 };
        const char *url;
        struct db *db;
        int acknowledged;

        disk_begin();
        db = open_items(&url);
        disk.writes = nth;
        disk.code = SQLITE_FULL; /* what the real VFS makes of ENOSPC */
        acknowledged = work(db, &err);
        clean = !disk.fired;
        fired += disk.fired;
        disk.writes = -1;
        CHECK_INT(err.code, clean ? ERR_NONE : ERR_FULL);
        CHECK_INT(suite_int(db, &count), acknowledged);
        CHECK(add(db, 100, STR_LIT("after"), NULL) == 0);
        CHECK(db_checkpoint(db, NULL) == 0);
        db_close(db);
        disk_end();
        db = suite_open(url, DB_READER);
        CHECK_INT(suite_int(db, &count), acknowledged + 1);
        db_close(db);
        CHECK(nth < 100);
    }
    CHECK(fired >= 4); /* three commits and the checkpoint */
}

TEST(no_room_for_the_index_of_the_log_is_a_full_disk_too)
{
    static const struct {
        int system_errno;
        enum err_code code;
    } rows[] = { { ENOSPC, ERR_FULL }, { EDQUOT, ERR_FULL }, { EIO, ERR_IO } };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct error err = { 0 };
        struct db *db = NULL;

        disk_begin();
        disk.maps = 0;
        disk.code = SQLITE_IOERR_SHMSIZE;
        disk.system_errno = rows[i].system_errno;
        CHECK(db_open(suite_new_database(), DB_WRITER, &db, &err) != 0);
        CHECK(disk.fired);
        CHECK_INT(err.code, rows[i].code);
        disk_end();
    }
}

TEST(an_io_error_while_writing_stops_the_writer)
{
    struct error err = { 0 };
    const char *url;
    struct db *db;

    disk_begin();
    db = open_items(&url);
    disk.writes = 0;
    disk.code = SQLITE_IOERR_WRITE;
    disk.system_errno = EIO;
    CHECK_INT(work(db, &err), 0);
    CHECK(disk.fired);
    CHECK_INT(err.code, ERR_IO);
    CHECK(db_begin(db, &err) != 0);
    CHECK_INT(err.code, ERR_IO);
    CHECK(db_checkpoint(db, &err) != 0);
    db_close(db);
    disk_end();
}

/* The log passes the length at which the writer checkpoints by itself, and that sync fails. */
TEST(a_failed_checkpoint_after_a_commit_is_not_kept_quiet)
{
    static char body[60000];
    struct error err = { 0 };
    const char *url;
    struct db *db;
    int commits = 0;

    memset(body, 'x', sizeof(body));
    disk_begin();
    db = open_items(&url);
    while (size_of(url, "-wal") < 3999L * 4120) /* just below: the next commit passes it */
        CHECK(add(db, commits++, str_from(body, sizeof(body)), NULL) == 0);
    disk.syncs = 2; /* after the commit's own and the checkpoint's of the log: that of the file */
    disk.code = SQLITE_IOERR_FSYNC;
    disk.system_errno = EIO;
    while (!disk.fired && add(db, commits++, str_from(body, sizeof(body)), &err) == 0)
        disk.syncs = 2;
    CHECK(disk.fired);
    CHECK_INT(err.code, ERR_IO);
    CHECK(strstr(err.text, "checkpoint failed") != NULL);
    CHECK(db_begin(db, NULL) != 0);
    db_close(db);
    disk_end();
}

/* The same where another thread moves the log: the writer is told when it begins again. */
TEST(a_failed_checkpoint_of_the_mover_is_not_kept_quiet)
{
    static char body[60000];
    struct error err = { 0 };
    const char *url;
    struct db *db;
    int commits = 0;

    memset(body, 'x', sizeof(body));
    disk_begin();
    db = open_items(&url);
    db_set_log_max(db, (int64_t)MIB(8)); /* there the writer waits for the mover */
    CHECK(db_defer_sync(db, NULL) == 0);
    disk.syncs = 0; /* commits do not sync by SQLite: it is the mover's */
    disk.code = SQLITE_IOERR_FSYNC;
    disk.system_errno = EIO;
    for (;;) {
        if (db_begin(db, &err) != 0)
            break;
        CHECK(add(db, commits++, str_from(body, sizeof(body)), NULL) == 0);
        CHECK(db_commit(db, NULL) == 0);
        CHECK(commits < 1000);
    }
    CHECK(((struct sqlite *)db)->mover != NULL);
    CHECK(disk.fired);
    CHECK_INT(err.code, ERR_IO);
    CHECK(strstr(err.text, "checkpoint failed") != NULL);
    CHECK(db_begin(db, NULL) != 0);
    CHECK(db_checkpoint(db, NULL) != 0);
    db_close(db);
    disk_end();
}

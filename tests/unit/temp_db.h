/* temp_db.h - SQLite databases of a test's own, in a directory that is deleted at exit. */
#pragma once
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "db/db.h"
#include "db/embedded.h"
#include "db/migrate.h"
#include "test.h"

enum { TEMP_DB_DIRECTORY_MAX = 96, TEMP_DB_URL_MAX = TEMP_DB_DIRECTORY_MAX + 32 };

static char temp_db_directory[TEMP_DB_DIRECTORY_MAX];

static inline void temp_db_remove(void)
{
    DIR *dir = opendir(temp_db_directory);
    const struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL)
        (void)unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir != NULL)
        (void)closedir(dir);
    (void)rmdir(temp_db_directory);
}

/* Below $TMPDIR, which may be a file system in memory: syncing costs nothing there. */
static inline void temp_db_make_directory(void)
{
    const char *parent = getenv("TMPDIR"); /* NOLINT(concurrency-mt-unsafe) */

    (void)snprintf(temp_db_directory, sizeof(temp_db_directory), "%s/muster-unit-XXXXXX",
                   parent != NULL ? parent : "/tmp");
    if (mkdtemp(temp_db_directory) == NULL)
        fail_msg("cannot create %s", temp_db_directory);
    (void)atexit(temp_db_remove);
}

/* The URL of a database that does not exist yet; lives until the next call. */
static inline const char *temp_db_new(void)
{
    static char url[TEMP_DB_URL_MAX];
    static int n;

    if (n++ == 0)
        temp_db_make_directory();
    (void)snprintf(url, sizeof(url), "sqlite:%s/%d.db", temp_db_directory, n);
    return url;
}

static inline struct db *temp_db_open(const char *url, enum db_mode mode)
{
    struct error err = { 0 };
    struct db *db = NULL;

    if (db_open(url, mode, &db, &err) != 0)
        fail_msg("%s", err.text);
    return db;
}

/* Every byte of one file to a new one. */
static inline void temp_db_copy(const char *from, const char *to)
{
    int source = open(from, O_RDONLY | O_CLOEXEC);
    int target = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    char bytes[KIB(64)];
    ssize_t n = -1;

    if (source < 0 || target < 0)
        fail_msg("cannot copy %s to %s", from, to);
    while ((n = read(source, bytes, sizeof(bytes))) > 0)
        CHECK(write(target, bytes, (size_t)n) == n);
    CHECK(n == 0);
    (void)close(source);
    (void)close(target);
}

/* The URL of a new database with all tables, as temp_db_new(). They are made once and then copied:
 * a fault at every call takes hundreds of databases. */
static inline const char *temp_db_migrated(void)
{
    static char first[TEMP_DB_URL_MAX];
    const char *url;

    if (first[0] == '\0') {
        struct error err = { 0 };
        struct db *db;

        (void)snprintf(first, sizeof(first), "%s", temp_db_new());
        db = temp_db_open(first, DB_WRITER);
        if (store_migrate(db, &err) != 0 || db_checkpoint(db, &err) != 0)
            fail_msg("%s", err.text);
        db_close(db);
    }
    url = temp_db_new();
    temp_db_copy(first + strlen("sqlite:"), url + strlen("sqlite:"));
    return url;
}

static inline bool temp_db_read_int(void *ctx, const struct db_row *row)
{
    *(int64_t *)ctx = db_get_int(row, 0);
    return true;
}

/* The first column of the last row; 0 when there is none. */
static inline int64_t temp_db_int(struct db *db, const struct db_query *q, struct db_args args)
{
    struct error err = { 0 };
    int64_t value = 0;

    if (db_exec(db, q, args, temp_db_read_int, &value, &err) != 0)
        fail_msg("%s", err.text);
    return value;
}

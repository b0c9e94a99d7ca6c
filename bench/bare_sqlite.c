/* bare_sqlite.c - how fast SQLite alone appends the same bytes: what the embedded store is held to.
 *
 * WAL, synchronous=FULL, one table of bodies without an index, 1,000 rows a
 * commit, nothing read, nothing checked.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "events.h"
#include "options.h"

_Noreturn static void fail(sqlite3 *db)
{
    (void)fprintf(stderr, "bare_sqlite: %s\n", sqlite3_errmsg(db));
    exit(1);
}

static void run_sql(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail(db);
}

static double now_s(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void insert(sqlite3 *db, sqlite3_stmt *stmt, const char *text, size_t len)
{
    if (sqlite3_bind_text(stmt, 1, text, (int)len, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_step(stmt) != SQLITE_DONE || sqlite3_reset(stmt) != SQLITE_OK)
        fail(db);
}

int main(int argc, char **argv)
{
    uint64_t count = 500000, commit = 1000, seed = 1, open_runs = 100, bytes = 0;
    const char *file = "bare.db";
    const struct option_row rows[] = {
        { "file", NULL, &file, "database to make" },
        { "count", &count, NULL, "events" },
        { "commit", &commit, NULL, "rows a commit" },
        { "seed", &seed, NULL, "another seed, other ids" },
        { "open-runs", &open_runs, NULL, "runs whose events are interleaved" },
    };
    struct event_source source;
    char text[EVENT_BYTES_MAX];
    sqlite3_stmt *stmt;
    sqlite3 *db;
    double began;

    options_read(argc, argv, rows, sizeof(rows) / sizeof(rows[0]));
    events_init(&source, "bench", seed, open_runs);
    if (sqlite3_open(file, &db) != SQLITE_OK)
        fail(db);
    run_sql(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                "CREATE TABLE events (event_no INTEGER PRIMARY KEY, body TEXT NOT NULL)");
    if (sqlite3_prepare_v2(db, "INSERT INTO events (body) VALUES (?)", -1, &stmt, NULL) !=
        SQLITE_OK)
        fail(db);
    began = now_s();
    for (uint64_t i = 0; i < count; i++) {
        size_t len = events_write(&source, i, text);

        if (i % commit == 0)
            run_sql(db, "BEGIN IMMEDIATE");
        insert(db, stmt, text, len);
        bytes += len;
        if ((i + 1) % commit == 0 || i + 1 == count)
            run_sql(db, "COMMIT");
    }
    (void)printf("rows_per_s %.1f\nevent_bytes %.1f\n", (double)count / (now_s() - began),
                 (double)bytes / (double)count);
    (void)sqlite3_finalize(stmt);
    (void)sqlite3_close(db);
    return 0;
}

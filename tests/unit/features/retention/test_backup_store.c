/* test_backup_store.c - a copy is the whole database, and stops when it is cancelled. */
#include "db/embedded.h"
#include "features/retention/backup_store.h"

#include "unit/temp_db.h"

static const struct db_query fill = {
    .sql = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000)"
           " INSERT INTO heartbeats (tenant_id, client_id, first_at, last_at)"
           " SELECT 1, 'process ' || i, i, i FROM n",
};
static const struct db_query count = { .sql = "SELECT COUNT(*) FROM heartbeats" };

struct world {
    char url[TEMP_DB_URL_MAX], copy[TEMP_DB_URL_MAX];
    struct db *writer, *keeper;
    int asked;
    bool wanted;
};

static bool go_on(void *ctx)
{
    struct world *w = ctx;

    w->asked++;
    return w->wanted;
}

static void world_init(struct world *w)
{
    *w = (struct world){ .wanted = true };
    (void)snprintf(w->copy, sizeof(w->copy), "%s", temp_db_new());
    (void)snprintf(w->url, sizeof(w->url), "%s", temp_db_migrated());
    w->writer = temp_db_open(w->url, DB_WRITER);
    CHECK(db_exec(w->writer, &fill, DB_NO_ARGS, NULL, NULL, NULL) == 0);
    w->keeper = temp_db_open(w->url, DB_MAINTENANCE);
    db_watch(w->keeper, go_on, w);
}

static void world_done(struct world *w)
{
    db_close(w->keeper);
    db_close(w->writer);
}

static const char *path_of(const char *url)
{
    return strchr(url, ':') + 1;
}

TEST(a_copy_has_all_that_was_committed_and_is_sound)
{
    struct arena arena;
    struct list problems;
    struct db *copy;
    struct world w;

    world_init(&w);
    arena_init(&arena);
    CHECK(backup_copy(w.keeper, path_of(w.copy), NULL) == 0);
    CHECK(w.asked > 0);
    copy = temp_db_open(w.copy, DB_MAINTENANCE);
    CHECK_INT(temp_db_int(copy, &count, DB_NO_ARGS), 50000);
    CHECK(backup_check(copy, &arena, &problems, NULL) == 0);
    CHECK_INT(problems.n, 0);
    db_close(copy);
    arena_done(&arena);
    world_done(&w);
}

TEST(a_copy_that_is_no_more_wanted_ends)
{
    struct error err = { 0 };
    struct world w;

    world_init(&w);
    w.wanted = false;
    CHECK(backup_copy(w.keeper, path_of(w.copy), &err) != 0);
    CHECK_INT(err.code, ERR_BUSY);
    world_done(&w);
}

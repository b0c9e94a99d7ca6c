/* size.c - how large the store is. */
#include "db/size.h"

#include <stdio.h>
#include <sys/stat.h>

#include "db/db.h"

/* clang-format off */
static const struct db_query select_size = {
    .sqlite = "SELECT c.page_count * s.page_size FROM pragma_page_count() c, pragma_page_size() s",
    .postgres = "SELECT pg_database_size(current_database())",
};
/* clang-format on */

int store_size(struct db *db, int64_t *ret, struct error *err)
{
    return db_exec_int(db, &select_size, DB_NO_ARGS, ret, err);
}

int64_t db_log_bytes(const char *url)
{
    static const struct str scheme = STR_INIT("sqlite:");
    struct stat file;
    char path[4096];

    if (!str_starts(str_of(url), scheme))
        return 0;
    (void)snprintf(path, sizeof(path), "%s-wal", url + scheme.len);
    return stat(path, &file) == 0 ? (int64_t)file.st_size : 0;
}

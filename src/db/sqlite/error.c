/* error.c - SQLite's result codes as ours. */
#include <errno.h>

#include "db/sqlite/sqlite.h"

/* A full disk under a write is SQLITE_FULL already; where SQLite needs a new file or a longer index
 * of the log it is one of these. Elsewhere its errno may be that of an older error. */
static bool is_no_space(const struct sqlite *s, int code)
{
    static const int codes[] = { SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_SHMOPEN, SQLITE_IOERR_SHMMAP,
                                 SQLITE_CANTOPEN };
    int why = sqlite3_system_errno(s->handle);

    for (size_t i = 0; i < COUNT_OF(codes); i++)
        if (codes[i] == code)
            return why == ENOSPC || why == EDQUOT;
    return false;
}

static enum err_code classify(const struct sqlite *s, int code)
{
    static const struct {
        int primary;
        enum err_code code;
    } map[] = {
        { SQLITE_FULL, ERR_FULL },      { SQLITE_CONSTRAINT, ERR_CONSTRAINT },
        { SQLITE_BUSY, ERR_BUSY },      { SQLITE_LOCKED, ERR_BUSY },
        { SQLITE_PROTOCOL, ERR_BUSY },  { SQLITE_IOERR, ERR_IO },
        { SQLITE_CORRUPT, ERR_IO },     { SQLITE_NOTADB, ERR_IO },
        { SQLITE_CANTOPEN, ERR_IO },    { SQLITE_TOOBIG, ERR_INVALID },
        { SQLITE_INTERRUPT, ERR_BUSY }, { SQLITE_NOMEM, ERR_BUSY },
    };

    if (is_no_space(s, code))
        return ERR_FULL;
    /* A reader that writes is our bug; a writer that may not was locked out by a chmod or mount. */
    if ((code & 0xff) == SQLITE_READONLY && s->mode == DB_WRITER)
        return ERR_UNAVAILABLE;
    for (size_t i = 0; i < COUNT_OF(map); i++)
        if (map[i].primary == (code & 0xff))
            return map[i].code;
    return ERR_INTERNAL;
}

int db_sqlite_fail(struct sqlite *s, int code, struct error *err)
{
    enum err_code ours = classify(s, code);

    if (ours == ERR_IO && s->mode == DB_WRITER)
        s->broken = true;
    return err_set(err, ours, "SQLite: %s (%d)",
                   ours == ERR_FULL ? sqlite3_errstr(SQLITE_FULL) : sqlite3_errmsg(s->handle),
                   code);
}

/* maintenance.c - opens the database of a data directory, or of a URL. */
#include "features/retention/maintenance.h"

#include "base/clock.h"
#include "db/db.h"

enum { CHECK_US = 20000 }; /* between two checks of who holds the data directory */

static bool same_holder(void *ctx)
{
    struct maintenance *k = ctx;
    int64_t now_us = clock_mono_us();

    if (now_us - k->checked_us < CHECK_US)
        return true;
    k->checked_us = now_us;
    return datadir_holder(&k->datadir) == k->holder;
}

void maintenance_end(struct maintenance *k)
{
    db_close(k->db);
    datadir_done(&k->datadir);
}

int maintenance_begin(struct maintenance *k, struct invocation *in, struct error *err)
{
    *k = (struct maintenance){ 0 };
    datadir_init(&k->datadir, in->settings.data, &in->arena);
    if (in->settings.database[0] != '\0')
        return db_open(in->settings.database, DB_MAINTENANCE, &k->db, err);
    if (datadir_ensure(&k->datadir, false, err) != 0 ||
        datadir_check_database(&k->datadir, err) != 0 ||
        (datadir_lock(&k->datadir, err) != 0 && err->code != ERR_BUSY))
        return -1;
    k->holder = datadir_holder(&k->datadir);
    if (db_open(k->datadir.database, DB_MAINTENANCE, &k->db, err) != 0) {
        datadir_done(&k->datadir);
        return -1;
    }
    db_watch(k->db, same_holder, k);
    return 0;
}

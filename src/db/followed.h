/* followed.h - checks by the database's change number whether a cache is up to date.
 *
 * After a reconnect the cache loads everything, whatever the number: a standby that lagged when it
 * took over reuses change numbers for other changes. A smaller number means that rows were restored
 * by hand; with Citus, that this server's copy of the numbers lags.
 *
 * Not thread-safe: each cache has one, guarded by the lock of its refresh.
 */
#pragma once
#include "db/db.h"

struct followed {
    int64_t number;  /* of the last load; 0: nothing is loaded */
    int64_t session; /* db_session() of that load */
};

enum followed_verdict {
    FOLLOWED_HOLDS,   /* the cache is up to date */
    FOLLOWED_CHANGED, /* load the rows with a greater number */
    FOLLOWED_WHOLE,   /* load everything: the first load, or changes may be lost */
};

/* `number` was just read on this connection. */
static inline enum followed_verdict followed_judge(const struct followed *f, const struct db *db,
                                                   int64_t number)
{
    if (f->number == 0 || f->session != db_session(db))
        return FOLLOWED_WHOLE;
    if (number < f->number)
        return db_is_distributed(db) ? FOLLOWED_HOLDS : FOLLOWED_WHOLE;
    return number > f->number ? FOLLOWED_CHANGED : FOLLOWED_HOLDS;
}

/* Loaded by this connection, in the transaction in which the number was read. */
static inline void followed_take(struct followed *f, const struct db *db, int64_t number)
{
    *f = (struct followed){ number, db_session(db) };
}

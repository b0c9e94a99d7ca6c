/* followed.h - whether what a cache has loaded still holds, by the change number of the database.
 *
 * After a connection was lost and made again everything is loaded, whatever the number: a standby
 * that was behind when it took over gives numbers again to other changes. A smaller number means
 * that rows were put back by hand; with Citus, that the server's copy of the numbers is late.
 *
 * Not thread-safe: a cache has one, under the lock by which it loads.
 */
#pragma once
#include "db/db.h"

struct followed {
    int64_t number;  /* of the last load; 0: nothing is loaded */
    int64_t session; /* db_session() of that load */
};

enum followed_verdict {
    FOLLOWED_HOLDS,   /* what was loaded */
    FOLLOWED_CHANGED, /* rows with a greater number have */
    FOLLOWED_WHOLE,   /* all is to be loaded: the first time, or changes may be lost */
};

/* Of a number that was just read, on this connection. */
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

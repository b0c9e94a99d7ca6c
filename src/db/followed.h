/* followed.h - whether what a cache has loaded still holds, by the change number of the database.
 *
 * A change number orders the changes of one history. A standby that was behind when it took over,
 * or a restored backup, begins another: its numbers are given again to other changes, so that none
 * greater than that of the last load may mean nothing. One rule for all that follows a number:
 *
 *  1. In another history than that of the last load everything is loaded, whatever the number.
 *  2. In the same one, what has a greater number than the last load has changed.
 *  3. In the same one a smaller number means that rows were put back by hand: everything is loaded.
 *     Citus has a copy of the numbers on each server, which may be late. So there a number counts
 * as smaller than what the same server has shown before.
 *
 * No statement begins on a standby, or on a server whose place a standby took: the driver refuses
 * both.
 *
 * Not thread-safe: a cache has one, under the lock by which it loads.
 */
#pragma once
#include "db/db.h"

enum { FOLLOWED_SERVERS = 16 };

struct followed_server {
    struct db_origin origin;
    int64_t number; /* the last that it has shown */
};

struct followed {
    int64_t number; /* of the last load; 0: nothing is loaded */
    /* What was loaded from. On Citus any server may answer, and each has a history of its own. */
    struct followed_server servers[FOLLOWED_SERVERS];
    size_t n_servers, next_server;
};

enum followed_verdict {
    FOLLOWED_HOLDS,   /* what was loaded */
    FOLLOWED_CHANGED, /* rows with a greater number have */
    FOLLOWED_WHOLE,   /* all is to be loaded: the first time, or changes may be lost */
};

/* Of a number that was just read, on this connection. */
enum followed_verdict followed_judge(struct followed *f, const struct db *db, int64_t number);

/* Loaded by this connection, in the transaction in which the number was read. */
void followed_take(struct followed *f, const struct db *db, int64_t number);

/* Two histories, as far as both are known: the same number may stand for other rows. */
bool db_origins_differ(const struct db_origin *a, const struct db_origin *b);

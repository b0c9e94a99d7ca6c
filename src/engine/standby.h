/* standby.h - is a standby of the database recent enough to read from?
 *
 * About once a second the primary is asked how far its log has grown. A standby
 * that has replayed the log that far shows everything that was committed before
 * the question, so it is as recent as the newest question whose answer it has
 * reached. Nothing depends on clocks of other machines, and a primary that is
 * idle or away makes no difference: without an answer, what is known gets old.
 *
 * Thread-safe, except where it says otherwise.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/lock.h"

struct db;

enum { STANDBY_QUESTIONS = 64 };

struct standby_question {
    int64_t asked_us; /* raw clock, before it was asked; 0: none */
    int64_t position; /* the end of the primary's log, in bytes */
};

struct standby {
    int64_t max_lag_us;
    atomic_bool usable;
    struct lock lock;
    struct standby_question questions[STANDBY_QUESTIONS] GUARDED_BY(lock); /* a ring */
    size_t next GUARDED_BY(lock);
};

void standby_init(struct standby *s, int64_t max_lag_us);
void standby_done(struct standby *s);

/* Asks the primary. One thread. */
int standby_ask(struct standby *s, struct db *primary, struct error *err) MUST_CHECK;

/* Did the last standby_reach() succeed, and no read since fail? */
bool standby_is_usable(const struct standby *s);

/* The connection's standby shows everything that was committed max_lag_us ago. ERR_BUSY: it does
 * not; ERR_UNAVAILABLE: it does not answer at once, or it is no standby any longer. A connection
 * that was lost is made again. `until_us`: raw clock, how long the caller waits; 0: no limit. */
int standby_reach(struct standby *s, struct db *db, int64_t until_us, struct error *err) MUST_CHECK;

/* Is it the standby's fault that a read failed on it, and not that of a read that takes long, or of
 * a caller who had little time? Both times are of the raw clock; 0: no limit. */
bool standby_is_at_fault(int64_t began_us, int64_t until_us, enum err_code code);

/* A read failed on it. */
void standby_shun(struct standby *s);

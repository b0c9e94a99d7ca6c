/* standby.c - positions in the log of the primary, and when they were asked for. */
#include "engine/standby.h"

#include <assert.h>

#include "base/clock.h"
#include "db/db.h"

enum {
    PATIENCE_US = 500000, /* a standby that hangs must not delay reads for long */
    AGAIN_US = 400000,    /* what took this long is not done twice */
};

/* clang-format off */
static const struct db_query select_end = {
    .sqlite = "SELECT 0", /* has no standby */
    .postgres = "SELECT CAST(pg_current_wal_lsn() - '0/0'::pg_lsn AS BIGINT)",
};
static const struct db_query select_replayed = {
    .sqlite = "SELECT 0",
    .postgres = "SELECT CAST(pg_last_wal_replay_lsn() - '0/0'::pg_lsn AS BIGINT)"
                " WHERE pg_is_in_recovery()",
};
/* clang-format on */

void standby_init(struct standby *s, int64_t max_lag_us)
{
    s->max_lag_us = max_lag_us;
    atomic_init(&s->usable, false);
    lock_init(&s->lock);
}

void standby_done(struct standby *s)
{
    lock_done(&s->lock);
}

int standby_ask(struct standby *s, struct db *primary, struct error *err)
{
    struct standby_question question = { .asked_us = clock_raw_us() };

    if (db_exec(primary, &select_end, DB_NO_ARGS, db_read_int, &question.position, err) != 0)
        return -1;
    lock_acquire(&s->lock);
    s->questions[s->next] = question;
    s->next = (s->next + 1) % STANDBY_QUESTIONS;
    lock_release(&s->lock);
    return 0;
}

bool standby_is_usable(const struct standby *s)
{
    return atomic_load_explicit(&s->usable, memory_order_relaxed);
}

void standby_shun(struct standby *s)
{
    atomic_store_explicit(&s->usable, false, memory_order_relaxed);
}

bool standby_is_at_fault(int64_t began_us, int64_t until_us, enum err_code code)
{
    const int64_t had_us = until_us == 0 ? INT64_MAX : until_us - began_us;
    const int64_t long_us = had_us / 2 < AGAIN_US ? had_us / 2 : AGAIN_US;

    if (code != ERR_BUSY && code != ERR_UNAVAILABLE && code != ERR_INTERNAL)
        return false;
    return clock_raw_us() - began_us < long_us || (code != ERR_BUSY && had_us >= USEC_PER_SEC);
}

/* Was one of the questions that are not too old answered by `replayed` or less? */
static bool is_recent(struct standby *s, int64_t replayed)
{
    const int64_t since_us = clock_raw_us() - s->max_lag_us;
    bool recent = false;

    lock_acquire(&s->lock);
    for (size_t i = 0; i < STANDBY_QUESTIONS && !recent; i++) {
        const struct standby_question *q = &s->questions[i];

        recent = q->asked_us != 0 && q->asked_us >= since_us && q->position <= replayed;
    }
    lock_release(&s->lock);
    return recent;
}

static void set_patience(struct db *db, int64_t until_us)
{
    const int64_t most_us = clock_raw_us() + PATIENCE_US;

    db_set_patience(db, until_us != 0 && until_us < most_us ? until_us : most_us);
}

static int check(struct standby *s, struct db *db, int64_t until_us, struct error *err)
{
    int64_t replayed = -1;
    int status;

    set_patience(db, until_us);
    status = db_exec(db, &select_replayed, DB_NO_ARGS, db_read_int, &replayed, err);
    db_set_patience(db, 0);
    if (status != 0)
        return -1;
    if (replayed < 0)
        return err_set(err, ERR_UNAVAILABLE, "it is no standby any longer");
    if (!is_recent(s, replayed))
        return err_set(err, ERR_BUSY, "the standby lags behind");
    atomic_store_explicit(&s->usable, true, memory_order_relaxed);
    return 0;
}

int standby_reach(struct standby *s, struct db *db, int64_t until_us, struct error *err)
{
    const int64_t began_us = clock_raw_us();
    struct error why = { 0 };
    int status = check(s, db, until_us, &why);

    if (status != 0 && why.code == ERR_UNAVAILABLE && clock_raw_us() - began_us < AGAIN_US) {
        db_set_patience(db, until_us);
        status = db_ping(db, &why) != 0 ? -1 : check(s, db, until_us, &why);
        db_set_patience(db, 0);
    }
    if (status != 0 && err != NULL)
        *err = why;
    return status;
}

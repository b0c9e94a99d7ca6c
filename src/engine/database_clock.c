/* database_clock.c - one question, between two looks at the own clock. */
#include "engine/database_clock.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "db/db.h"
#include "db/servers.h"

enum {
    CALM_US = 2000,            /* differences up to this are left: the clock would only jitter */
    SLOW_US = USEC_PER_SEC,    /* an answer that took longer says too little */
    FAR_US = 2 * USEC_PER_SEC, /* worth a line in the log */
};

/* clang-format off */
static const struct db_query select_now = {
    .sqlite = "SELECT 0", /* one machine: not asked */
    .postgres = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)",
};
/* clang-format on */

static void tell(int64_t before_us, int64_t now_us)
{
    if (llabs(now_us) >= FAR_US && llabs(now_us - before_us) >= FAR_US)
        log_write(LOG_WARNING, "clock",
                  "this machine's clock is %.1f s %s the database's, which is used: set it right",
                  (double)llabs(now_us) / (double)USEC_PER_SEC, now_us < 0 ? "ahead of" : "behind");
}

/* The clock of a server that is no worker was learned: that of a worker no longer counts. */
static atomic_bool led;

int database_clock_learn(struct db *db, struct error *err)
{
    const bool leads = !db_is_worker(db);
    const int64_t asked_us = clock_raw_us();
    int64_t now_us = 0, took_us, offset_us;

    if (db_exec(db, &select_now, DB_NO_ARGS, db_read_int, &now_us, err) != 0)
        return -1;
    took_us = clock_raw_us() - asked_us;
    if (took_us <= SLOW_US && leads)
        atomic_store(&led, true);
    if (atomic_load(&led) != leads)
        return 0;
    offset_us = now_us + took_us / 2 - clock_machine_us();
    if (took_us > SLOW_US || llabs(offset_us - clock_offset_us()) <= took_us / 2 + CALM_US)
        return 0;
    tell(clock_offset_us(), offset_us);
    clock_set_offset_us(offset_us);
    return 0;
}

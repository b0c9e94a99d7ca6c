/* packing.c - asks whether rows of events may be packed, and decides that they are. */
#include "features/events/kinds/packing.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "db/db.h"
#include "engine/feature.h"
#include "engine/sync_job.h"
#include "features/events/event_days.h"
#include "features/events/event_log.h"

enum {
    WAIT_S = 86400, /* with no older node */
    GAP_S = 3600,   /* without a look: the wait begins again */
    ALIVE_S = 60,   /* a node that was seen since then runs */
    PERIOD_S = 10,  /* between two looks */
    NOTE_S = 60,    /* between two that are stored */
};

/* Numbers of the database. */
#define PACKED        STR_LIT("packed_events")        /* 1: rows are packed */
#define WITHOUT_OLDER STR_LIT("events_without_older") /* since when; 0: there is an older node */
#define LOOKED        STR_LIT("events_looked")        /* when it was last looked */

/* clang-format off */
DB_QUERY(select_number, "SELECT number FROM change_numbers WHERE topic = $1");
DB_QUERY(set_number, "UPDATE change_numbers SET number = $2 WHERE topic = $1");
/* Of the oldest program that runs; -1: none has said so. */
DB_QUERY(select_oldest_node, "SELECT COALESCE(MIN(knows), -1) FROM nodes WHERE seen_at > $1");
/* Is an id stored as text? An index has just those, in this order. */
DB_QUERY(select_any_plain,
    "SELECT COUNT(*) FROM (SELECT 1 FROM events WHERE event_id <> ''"
    " ORDER BY tenant_id, event_id LIMIT 1) AS x");
/* clang-format on */

/* One look, in a transaction of the writer. */
struct look {
    int64_t now;
    bool begun;   /* this process packs */
    bool packed;  /* all do */
    bool decided; /* now: also that exports rely on days */
    bool settled; /* there is nothing left to decide */
};

static int number(struct db *db, struct str topic, int64_t *ret, struct error *err)
{
    return db_exec_int(db, &select_number, DB_ARGS(db_text(topic)), ret, err);
}

static int set(struct db *db, struct str topic, int64_t value, struct error *err)
{
    return db_run(db, &set_number, DB_ARGS(db_text(topic), db_int(value)), err);
}

static int decide(struct look *look, struct db *db, struct error *err)
{
    look->packed = look->decided = look->settled = true;
    if (set(db, PACKED, 1, err) != 0)
        return -1;
    return event_days_begin(db, err);
}

/* No older program runs. */
static int count_time(struct look *look, struct db *db, int64_t since, struct error *err)
{
    int64_t looked = 0;

    if (number(db, LOOKED, &looked, err) != 0)
        return -1;
    if (since == 0 || since > look->now || look->now - looked > (int64_t)GAP_S * USEC_PER_SEC) {
        since = look->now;
        if (set(db, WITHOUT_OLDER, since, err) != 0)
            return -1;
    }
    if (since == look->now || look->now - looked >= (int64_t)NOTE_S * USEC_PER_SEC)
        if (set(db, LOOKED, look->now, err) != 0)
            return -1;
    return look->now - since < (int64_t)WAIT_S * USEC_PER_SEC ? 0 : decide(look, db, err);
}

/* Is the oldest node that runs one of a program from before? */
static bool is_older(int64_t oldest)
{
    return oldest >= 0 && oldest < EVENT_DAYS_MIGRATION;
}

static int store_look(void *ctx, struct db *db, struct error *err)
{
    struct look *look = ctx;
    const int64_t alive = look->now - (int64_t)ALIVE_S * USEC_PER_SEC;
    int64_t packed = 0, days = 0, oldest = 0, since = 0;

    look->decided = false;
    if (number(db, PACKED, &packed, err) != 0 || event_days_since(db, &days, err) != 0 ||
        number(db, WITHOUT_OLDER, &since, err) != 0 ||
        db_exec_int(db, &select_oldest_node, DB_ARGS(db_int(alive)), &oldest, err) != 0)
        return -1;
    look->packed = packed != 0;
    look->settled = look->packed && days != 0;
    if (look->settled)
        return is_older(oldest) ? event_days_postpone(db, err) : 0;
    if (look->begun && !look->packed) /* a standby has become the primary that did not know yet */
        return decide(look, db, err);
    if (oldest < 0) /* a crash has emptied the table: it will be known soon */
        return 0;
    if (!is_older(oldest))
        return count_time(look, db, since, err);
    return since == 0 ? 0 : set(db, WITHOUT_OLDER, 0, err);
}

static int begin(struct packing *p, struct db *db, struct error *err)
{
    int64_t any = 0;

    assert(!p->begun && p->log != NULL);
    if (db_exec_int(db, &select_any_plain, DB_NO_ARGS, &any, err) != 0)
        return -1;
    event_log_postgres_pack(p->log, any == 0 ? EVENTS_PACKED : EVENTS_PACKED_AFTER_PLAIN);
    p->begun = true;
    return 0;
}

int packing_open(struct packing *p, struct event_log *log, struct db *db, struct error *err)
{
    int64_t packed = 0;

    *p = (struct packing){ 0 };
    if (strcmp(db_dialect(db), "postgres") != 0)
        return event_days_begin(db, err);
    p->log = log;
    if (number(db, PACKED, &packed, err) != 0)
        return -1;
    if (packed == 0)
        return 0;
    /* of a new database the migration could not say it */
    if (event_days_refuse_older(db, err) != 0)
        return -1;
    return begin(p, db, err);
}

int packing_step(struct packing *p, const struct tick *tick, struct db *db, struct writer *writer,
                 struct error *err)
{
    const int period_s = p->settled ? NOTE_S : PERIOD_S;
    struct look look = { .now = tick->wall_us, .begun = p->begun };

    if (p->log == NULL || tick->mono_us - p->looked_us < (int64_t)period_s * USEC_PER_SEC)
        return 0;
    p->looked_us = tick->mono_us;
    if (writer_run_sync(writer, store_look, &look, err) != 0)
        return -1;
    assert(look.packed || !look.decided);
    p->settled = look.settled;
    if (look.decided)
        log_write(
            LOG_INFO, "storage",
            "%s from now on: programs from before migration %d can no longer use this database",
            p->begun ? "an export of a time range skips days that have no events of it"
                     : "events are stored in fewer bytes",
            EVENT_DAYS_MIGRATION);
    return look.packed && !p->begun ? begin(p, db, err) : 0;
}

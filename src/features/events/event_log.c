/* event_log.c - chooses the event log for the database. */
#include "features/events/event_log.h"

#include <string.h>

#include "db/db.h"

int event_log_new(struct db *db, struct event_log **ret, struct error *err)
{
    if (strcmp(db_dialect(db), "postgres") == 0)
        return event_log_postgres_new(ret);
    return event_log_sqlite_new(db, ret, err);
}

/* event_kinds_store.c - SQL that adds and reads the kinds of events. */
#include "features/events/kinds/event_kinds_store.h"

#include "db/db.h"

/* clang-format off */
static const struct db_query select_kinds = {
    .sqlite = "SELECT kind_no, tenant_id, agent_version, level, category, source FROM event_kinds"
              " ORDER BY kind_no",
};
static const struct db_query insert_kind = {
    .sqlite = "INSERT INTO event_kinds (kind_no, tenant_id, bytes, agent_version, level, category,"
              " source) VALUES ($1, $2, $3, $4, $5, $6, $7)",
};
static const struct db_query select_kinds_of_events = {
    .sqlite = "SELECT event_no, COALESCE(kind_no, 0) FROM events WHERE event_no > $1"
              " ORDER BY event_no LIMIT $2",
};
static const struct db_query delete_kind = {
    .sqlite = "DELETE FROM event_kinds WHERE kind_no = $1",
};
/* clang-format on */

struct kind_reader {
    event_kind_fn *fn;
    void *ctx;
};

static bool read_kind(void *ctx, const struct db_row *row)
{
    const struct kind_reader *reader = ctx;
    const struct event_kind kind = { .tenant_id = db_get_int(row, 1),
                                     .agent_version = db_get_text(row, 2),
                                     .level = db_get_text(row, 3),
                                     .category = db_get_text(row, 4),
                                     .source = db_get_text(row, 5) };

    reader->fn(reader->ctx, db_get_int(row, 0), &kind);
    return true;
}

int store_event_kinds(struct db *db, event_kind_fn *fn, void *ctx, struct error *err)
{
    struct kind_reader reader = { fn, ctx };

    return db_exec(db, &select_kinds, DB_NO_ARGS, read_kind, &reader, err);
}

int store_add_event_kind(struct db *db, int64_t kind_no, const struct event_kind *kind,
                         struct error *err)
{
    const size_t bytes =
        kind->agent_version.len + kind->level.len + kind->category.len + kind->source.len;

    return db_run(db, &insert_kind,
                  DB_ARGS(db_int(kind_no), db_int(kind->tenant_id), db_int((int64_t)bytes),
                          db_text(kind->agent_version), db_text(kind->level),
                          db_text(kind->category), db_text(kind->source)),
                  err);
}

static bool read_kind_of_event(void *ctx, const struct db_row *row)
{
    struct kind_walker *walker = ctx;

    walker->fn(walker->ctx, db_get_int(row, 0), db_get_int(row, 1));
    walker->n++;
    return true;
}

int store_kinds_of_events(struct db *db, int64_t event_no, int64_t limit,
                          struct kind_walker *walker, struct error *err)
{
    return db_exec(db, &select_kinds_of_events, DB_ARGS(db_int(event_no), db_int(limit)),
                   read_kind_of_event, walker, err);
}

int store_drop_event_kind(struct db *db, int64_t kind_no, struct error *err)
{
    return db_run(db, &delete_kind, DB_ARGS(db_int(kind_no)), err);
}

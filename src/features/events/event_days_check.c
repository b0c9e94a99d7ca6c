/* event_days_check.c - looks whether every event is where an export would look for it. */
#include "db/db.h"
#include "features/events/event_days.h"
#include "shape/rows.h"

enum { SUSPECTS_MAX = 10000 };

struct suspect {
    int64_t tenant_id, event_no, timestamp;
};

struct checking {
    struct rows rows;     /* struct days_row of all tenants, in order */
    struct rows suspects; /* struct suspect */
};

/* clang-format off */
DB_QUERY(select_all_rows,
    "SELECT tenant_id, first_no, day, lags FROM event_days ORDER BY tenant_id, first_no");
DB_QUERY(select_all_events, "SELECT tenant_id, event_no, timestamp FROM events WHERE event_no >= $1");
DB_QUERY(select_row,
    "SELECT tenant_id, first_no, day, lags FROM event_days WHERE tenant_id = $1 AND first_no <= $2"
    " ORDER BY first_no DESC LIMIT 1");
/* clang-format on */

static void read_days_row(const struct db_row *row, struct days_row *ret)
{
    *ret = (struct days_row){ db_get_int(row, 0), db_get_int(row, 1), db_get_int(row, 2),
                              (uint64_t)db_get_int(row, 3) };
}

static bool keep_row(void *ctx, const struct db_row *row)
{
    read_days_row(row, rows_add(ctx));
    return true;
}

/* The last row of the tenant that begins with the number or before; or NULL. */
static const struct days_row *covering(const struct checking *c, int64_t tenant_id,
                                       int64_t event_no)
{
    const struct days_row *rows = c->rows.items;
    size_t low = 0, high = c->rows.n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct days_row *row = &rows[middle];

        if (row->tenant_id < tenant_id ||
            (row->tenant_id == tenant_id && row->first_no <= event_no))
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 || rows[low - 1].tenant_id != tenant_id ? NULL : &rows[low - 1];
}

/* Before a tenant's first row an export reads all. */
static bool look_at_event(void *ctx, const struct db_row *row)
{
    struct checking *c = ctx;
    const struct suspect one = { db_get_int(row, 0), db_get_int(row, 1), db_get_int(row, 2) };
    const struct days_row *found = covering(c, one.tenant_id, one.event_no);

    if (found == NULL || days_row_has(found, one.timestamp))
        return true;
    *(struct suspect *)rows_add(&c->suspects) = one;
    return c->suspects.n < SUSPECTS_MAX;
}

static bool read_one(void *ctx, const struct db_row *row)
{
    read_days_row(row, ctx);
    return true;
}

/* The event is committed, and its row with it; the row as it was read before may be older. */
static int look_again(const struct checking *c, struct db *db, days_lost_fn *on_lost, void *ctx,
                      struct error *err)
{
    for (size_t i = 0; i < c->suspects.n; i++) {
        const struct suspect *one = &((const struct suspect *)c->suspects.items)[i];
        struct days_row row = { 0 };

        if (db_exec(db, &select_row, DB_ARGS(db_int(one->tenant_id), db_int(one->event_no)),
                    read_one, &row, err) != 0)
            return -1;
        if (row.tenant_id != 0 && !days_row_has(&row, one->timestamp) &&
            !on_lost(ctx, one->tenant_id, one->event_no))
            return 0;
    }
    return 0;
}

int event_days_check(struct db *db, days_lost_fn *on_lost, void *ctx, struct error *err)
{
    ARENA_SCOPED(arena);
    struct checking c = { .rows = { .arena = &arena, .size = sizeof(struct days_row) },
                          .suspects = { .arena = &arena, .size = sizeof(struct suspect) } };
    int64_t begun = 0;

    if (event_days_since(db, &begun, err) != 0)
        return -1;
    if (begun == 0)
        return 0;
    if (db_exec(db, &select_all_rows, DB_NO_ARGS, keep_row, &c.rows, err) != 0 ||
        db_exec(db, &select_all_events, DB_ARGS(db_int(begun)), look_at_event, &c, err) != 0)
        return -1;
    return look_again(&c, db, on_lost, ctx, err);
}

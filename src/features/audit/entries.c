/* entries.c - reads the audit log, and verifies its hashes. */
#include "features/audit/entries.h"

#include "db/db.h"
#include "features/audit/audit.h"
#include "features/audit/shapes.h"

enum { SCAN_MAX = 10000 };

int audit_list(struct db *db, int64_t tenant_id, const struct audit_query *query,
               struct arena *arena, struct audit_page *ret, struct error *err)
{
    const struct audit_filter filter = { .action = query->action,
                                         .actor = query->actor,
                                         .since = query->range.since,
                                         .until = query->range.until,
                                         .before = query->before,
                                         .limit = query->limit,
                                         .scan_max = SCAN_MAX };
    struct audit_found found;

    if (store_audit_page(db, tenant_id, &filter, arena, &found, err) != 0)
        return -1;
    ret->entries = found.entries;
    ret->next = found.more ? arena_printf(arena, "%lld", (long long)found.next) : STR_NULL;
    return 0;
}

/* How far a chain has been verified. */
struct walk {
    struct audit_head at; /* the last valid entry */
    bool begun;
    bool ended;
    const char *problem;
    int64_t seq; /* of the entry with the problem */
};

static void set_problem(struct walk *w, const char *problem, int64_t seq)
{
    w->problem = problem;
    w->seq = seq;
}

static void check_entry(struct walk *w, const struct audit_row *row)
{
    struct sha256 hash;

    w->begun = true;
    if (row->seq <= w->at.seq) {
        set_problem(w, "an entry was inserted", row->seq);
        return;
    }
    if (row->seq != w->at.seq + 1) {
        set_problem(w, "an entry is missing", w->at.seq + 1);
        return;
    }
    hash = audit_hash(&w->at.hash, row->seq, &row->entry);
    if (str_eq(str_from((const char *)hash.bytes, SHA256_BYTES), row->hash))
        w->at = (struct audit_head){ row->seq, hash };
    else
        set_problem(w, "an entry was changed or moved", row->seq);
}

/* The last entry must be the stored end of the chain. */
static void check_end(struct walk *w, const struct audit_head *end)
{
    w->ended = true;
    if (end->seq > w->at.seq)
        set_problem(w, "entries are missing at the end", w->at.seq + 1);
    else if (end->seq < w->at.seq)
        set_problem(w, "an entry was added after the end", end->seq + 1);
    else if (!digest_equal(&end->hash, &w->at.hash))
        set_problem(w, "the last entry does not match the stored end of the chain", end->seq);
}

/* Reads the entries and the stored end in one snapshot. Each step has its own snapshot, which is
 * safe because entries never change. */
static int walk_step(struct db *db, int64_t tenant_id, struct walk *w, struct error *err)
{
    const struct audit_row *rows;
    struct audit_head end;
    struct list found;
    struct arena arena;
    int r = -1;

    if (db_begin(db, err) != 0)
        return -1;
    arena_init(&arena);
    if (store_audit_walk(db, tenant_id, w->begun ? w->at.seq : INT64_MIN, &arena, &found, err) !=
            0 ||
        store_audit_head(db, tenant_id, &end, err) != 0)
        goto out;
    rows = found.items;
    for (size_t i = 0; i < found.n && w->problem == NULL; i++)
        check_entry(w, &rows[i]);
    if (w->problem == NULL && found.n < AUDIT_STEP)
        check_end(w, &end);
    r = 0;
out:
    db_rollback(db);
    arena_done(&arena);
    return r;
}

int audit_verify(struct db *db, int64_t tenant_id, struct audit_verdict *ret, struct error *err)
{
    struct walk w = { 0 };

    while (!w.ended && w.problem == NULL)
        if (walk_step(db, tenant_id, &w, err) != 0)
            return -1;
    *ret = (struct audit_verdict){ .ok = w.problem == NULL, .entries = w.at.seq };
    if (w.problem != NULL) {
        ret->problem = str_of(w.problem);
        ret->seq = (struct opt_int){ true, w.seq };
    }
    return 0;
}

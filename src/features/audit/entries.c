/* entries.c - reads the audit log, and verifies its hashes. */
#include "features/audit/audit.h"

#include "base/clock.h"
#include "db/db.h"
#include "features/audit/shapes.h"
#include "features/vault/signer.h"

/* How much a reader verifies before others have their turn; the first step is always done. */
enum { TURN_ENTRIES = 2000 };
static const int64_t TURN_US = INT64_C(20) * 1000;

struct audit_walk {
    const struct audit_proof *proof;
    int64_t tenant_id;
    struct audit_head end; /* as stored, in the last step's snapshot */
    struct audit_head at;  /* the last valid entry */
    int64_t reset_seq;     /* the last with which the signature began again; 0: none */
    bool begun;
    bool ended;
    size_t n; /* entries that the last step found */
    const char *problem;
    int64_t seq; /* of the entry with the problem */
};

static void set_problem(struct audit_walk *w, const char *problem, int64_t seq)
{
    w->problem = problem;
    w->seq = seq;
}

/* False at the first problem. */
static bool check_entry(void *ctx, const struct audit_row *row)
{
    struct audit_walk *w = ctx;
    struct sha256 hash;

    w->begun = true;
    w->n++;
    if (row->seq <= w->at.seq) {
        set_problem(w, "an entry was inserted", row->seq);
        return false;
    }
    if (row->seq != w->at.seq + 1) {
        set_problem(w, "an entry is missing", w->at.seq + 1);
        return false;
    }
    hash = audit_hash(&w->at.hash, row->seq, &row->entry);
    if (!str_eq(digest_str(&hash), row->hash)) {
        set_problem(w, "an entry was changed or moved", row->seq);
        return false;
    }
    w->at = (struct audit_head){ .seq = row->seq, .hash = hash };
    if (str_eq_c(row->entry.action, AUDIT_RESET))
        w->reset_seq = row->seq;
    return true;
}

/* The last entry must be the stored end of the chain. */
static void check_end(struct audit_walk *w, const struct audit_head *end)
{
    w->ended = true;
    if (end->seq > w->at.seq)
        set_problem(w, "entries are missing at the end", w->at.seq + 1);
    else if (end->seq < w->at.seq)
        set_problem(w, "an entry was added after the end", end->seq + 1);
    else if (!digest_equal(&end->hash, &w->at.hash))
        set_problem(w, "the last entry does not match the stored end of the chain", end->seq);
}

/* The end was signed by this installation, and what was signed is in the chain. */
static int check_signature(struct audit_walk *w, struct db *db, struct error *err)
{
    struct sha256 stored;

    if (w->proof->signer == NULL || (w->end.seq == 0 && !w->end.is_signed))
        return 0;
    if (!w->end.is_signed) {
        set_problem(w,
                    "the log is not signed: the signature was removed, or all of it was written "
                    "without the master key since the last start of a server",
                    w->end.seq);
        return 0;
    }
    if (!audit_signature_holds(w->proof->signer, w->tenant_id, &w->end)) {
        set_problem(w, "the end of the log was not signed by this installation", w->end.seq);
        return 0;
    }
    if (audit_stored_hash(db, w->tenant_id, w->end.signed_seq, &stored, err) != 0)
        return -1;
    if (!digest_equal(&stored, &w->end.signed_hash))
        set_problem(w, "the log was rewritten: this entry is not the one that was signed",
                    w->end.signed_seq);
    return 0;
}

/* The chain still has the entry with which the kept head ended. */
static int check_kept(struct audit_walk *w, struct db *db, struct error *err)
{
    const struct kept_head *kept = w->proof->kept;
    struct sha256 stored;

    if (kept == NULL || kept->seq == 0 || w->problem != NULL)
        return 0;
    /* the key of a head from before a reset is lost: its hash alone proves something */
    if (w->proof->signer != NULL && kept->seq >= w->reset_seq &&
        !audit_head_holds(w->proof->signer, kept)) {
        set_problem(w, "the kept head was not signed by this installation", kept->seq);
        return 0;
    }
    if (kept->seq > w->at.seq) {
        set_problem(w, "entries are missing at the end: the kept head has more", w->at.seq + 1);
        return 0;
    }
    if (audit_stored_hash(db, w->tenant_id, kept->seq, &stored, err) != 0)
        return -1;
    if (!digest_equal(&stored, &kept->hash))
        set_problem(w, "the log was rewritten: this entry is not the one of the kept head",
                    kept->seq);
    return 0;
}

/* Reads the entries and the stored end in one snapshot. Each step has its own snapshot, which is
 * safe because entries never change. */
static int walk_step(struct db *db, struct audit_walk *w, struct error *err)
{
    int r = -1;

    if (db_begin(db, err) != 0)
        return -1;
    w->n = 0;
    if (audit_walk_rows(db, w->tenant_id, w->begun ? w->at.seq : INT64_MIN, check_entry, w, err) !=
            0 ||
        audit_stored_head(db, w->tenant_id, &w->end, err) != 0)
        goto out;
    if (w->problem == NULL && w->n < AUDIT_STEP)
        check_end(w, &w->end);
    r = 0;
    if (w->ended && w->problem == NULL && check_signature(w, db, err) != 0)
        r = -1;
    if (r == 0 && w->ended)
        r = check_kept(w, db, err);
    if (r != 0)
        w->ended = false; /* it is tried again */
out:
    db_rollback(db);
    return r;
}

struct audit_walk *audit_walk_new(struct arena *arena, int64_t tenant_id,
                                  const struct audit_proof *proof)
{
    struct audit_walk *w = ARENA_NEW(arena, struct audit_walk);

    w->proof = proof;
    w->tenant_id = tenant_id;
    return w;
}

bool audit_walk_is_over(const struct audit_walk *w)
{
    return w->ended || w->problem != NULL;
}

int audit_walk_go_on(struct audit_walk *w, struct db *db, struct error *err)
{
    const int64_t until_us = clock_raw_us() + TURN_US, until_seq = w->at.seq + TURN_ENTRIES;

    do
        if (walk_step(db, w, err) != 0)
            return -1;
    while (!audit_walk_is_over(w) && w->at.seq < until_seq && clock_raw_us() < until_us);
    return 0;
}

void audit_walk_verdict(const struct audit_walk *w, struct audit_verdict *ret)
{
    *ret = (struct audit_verdict){ .ok = w->problem == NULL,
                                   .entries = w->at.seq,
                                   .unsigned_entries = w->end.unsigned_entries,
                                   .reset_seq = { w->reset_seq > 0, w->reset_seq } };
    if (w->problem != NULL) {
        ret->problem = str_of(w->problem);
        ret->seq = (struct opt_int){ true, w->seq };
    } else if (w->proof->signer != NULL) {
        ret->signed_to = (struct opt_int){ true, w->end.signed_seq };
    }
}

int audit_verify(struct db *db, int64_t tenant_id, const struct audit_proof *proof,
                 struct audit_verdict *ret, struct error *err)
{
    struct audit_walk w = { .proof = proof, .tenant_id = tenant_id };

    while (!audit_walk_is_over(&w))
        if (audit_walk_go_on(&w, db, err) != 0)
            return -1;
    audit_walk_verdict(&w, ret);
    return 0;
}

int audit_read_head(struct db *db, int64_t tenant_id, const struct signer *signer,
                    struct arena *arena, struct audit_head_answer *ret, struct error *err)
{
    char public_key[PUBLIC_KEY_TEXT + 1];
    struct audit_head head;

    if (signer == NULL)
        return err_set(err, ERR_CONFLICT, "signing needs the master key, which is not here");
    if (audit_stored_head(db, tenant_id, &head, err) != 0)
        return -1;
    signer_public_key(signer, public_key);
    *ret = (struct audit_head_answer){
        .seq = head.seq,
        .unsigned_entries = head.unsigned_entries,
        .head = audit_head_text(signer, tenant_id, &head, arena),
        .public_key = arena_copy(arena, str_of(public_key)),
    };
    return 0;
}

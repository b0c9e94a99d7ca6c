/* audit.h - the audit log: every administrative change and every secret handed out.
 *
 * Each entry's hash covers the entry and the previous hash of its tenant's
 * chain, so that no entry can be changed, removed or moved unnoticed. Hashes
 * alone do not stop someone who can write the database from rewriting a whole
 * chain. So its end carries a code made with a key that is not in the database.
 * An appended entry extends a code that holds; one that does not hold is left as
 * it is, so that it stays evident.
 *
 * Someone with the key too, or with an older copy of the whole database, is
 * only found by comparing the log with a head that was kept elsewhere.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"
#include "shape/shape.h"

struct api_call;
struct audit_head_answer;
struct audit_query;
struct audit_verdict;
struct db;
struct signer;
struct vault_losses;

enum { AUDIT_PLATFORM = 0 }; /* the tenant_id of the platform's chain */

/* Who did what to what, when, and from where. */
struct audit_entry {
    int64_t tenant_id;
    int64_t at;
    struct str actor;  /* as auth_actor() names callers */
    struct str action; /* "key.add": a noun and a verb */
    struct str target;
    struct str origin; /* an address, or "unix" */
    struct str detail; /* a JSON object without secrets, or STR_NULL */
};

/* The end of a chain, and how much of it is signed. */
struct audit_head {
    int64_t seq; /* 0: the chain is empty */
    struct sha256 hash;

    bool is_signed;
    int64_t signed_seq; /* the last entry that the signature covers, and its hash */
    struct sha256 signed_hash;
    int64_t unsigned_entries; /* written without the key, before or between signed ones */
    struct sha256 signature;
};

/* The hash of an entry at this position of a chain. */
struct sha256 audit_hash(const struct sha256 *before, int64_t seq, const struct audit_entry *entry);

/* The API's audit hook: adds an entry about the caller, the action and call->audit_target, within
 * the transaction of the change: both are stored, or neither. */
int audit_call(struct api_call *call, struct db *db, const char *action,
               struct error *err) MUST_CHECK;

/* Signs chains that have no signature, written without the key. Returns the
 * number of chains. In a transaction. */
int audit_sign_old(const struct signer *signer, struct db *db, size_t *ret_n,
                   struct error *err) MUST_CHECK;

/* A vault_reset_fn: says so in every chain, and ends its signature, which cannot be
 * checked any more. The next start signs the chains again. */
int audit_note_reset(struct db *db, const struct vault_losses *lost, struct error *err) MUST_CHECK;
#define AUDIT_RESET "vault.reset" /* the action of its entries */

/* Does the stored signature hold? Does not look at entries. */
bool audit_signature_holds(const struct signer *signer, int64_t tenant_id,
                           const struct audit_head *head);

/* An end of a chain that was kept outside, as text:
 * mh1.TENANT.SEQ.HASH.UNSIGNED.SIGNATURE */
struct kept_head {
    int64_t tenant_id, seq, unsigned_entries;
    struct sha256 hash;
    struct str text;      /* what is signed */
    struct str signature; /* base64url */
};

struct str audit_head_text(const struct signer *signer, int64_t tenant_id,
                           const struct audit_head *head, struct arena *arena);

/* False when the text is not a head. */
bool audit_head_read(struct str text, struct kept_head *ret);

bool audit_head_holds(const struct signer *signer, const struct kept_head *kept);

/* What a chain is held against besides its own hashes. */
struct audit_proof {
    const struct signer *signer;  /* NULL: the signature is not checked */
    const struct kept_head *kept; /* a head of this chain that must be in it; NULL: none */
};

/* A verification of a chain from its first entry to its end, or to the first problem, in turns:
 * between them a log of any length leaves the reader to others. */
struct audit_walk;

/* In the arena; borrows the proof. AUDIT_PLATFORM is the platform. */
struct audit_walk *audit_walk_new(struct arena *arena, int64_t tenant_id,
                                  const struct audit_proof *proof);

/* One turn, at most 2,000 entries and about 20 ms; after a failure it may be tried again. On a
 * reader, outside a transaction. */
int audit_walk_go_on(struct audit_walk *w, struct db *db, struct error *err) MUST_CHECK;

bool audit_walk_is_over(const struct audit_walk *w);

/* Once it is over. */
void audit_walk_verdict(const struct audit_walk *w, struct audit_verdict *ret);

/* The whole of it at once, for commands. */
int audit_verify(struct db *db, int64_t tenant_id, const struct audit_proof *proof,
                 struct audit_verdict *ret, struct error *err) MUST_CHECK;

/* The end of the chain, signed to be kept elsewhere; in the arena. */
int audit_read_head(struct db *db, int64_t tenant_id, const struct signer *signer,
                    struct arena *arena, struct audit_head_answer *ret,
                    struct error *err) MUST_CHECK;

/* Rows (store.c). */

/* Within a transaction: the end of the tenant's chain, locked until the transaction ends. */
int audit_lock(struct db *db, int64_t tenant_id, struct audit_head *ret,
               struct error *err) MUST_CHECK;

/* Appends the entry as the new end; `head` with its signature replaces the old one. */
int audit_append(struct db *db, const struct audit_entry *entry, const struct audit_head *head,
                 struct error *err) MUST_CHECK;

/* An entry with its position in the chain. */
struct audit_row {
    int64_t seq;
    struct audit_entry entry;
    struct str hash;
};

/* The entries that the query asks for, newest first: a list of struct audit_item, in the arena. A
 * bounded number of entries is scanned, so a page may be short and still have a next one. */
int audit_read_page(struct db *db, int64_t tenant_id, const struct audit_query *query,
                    struct arena *arena, struct listing *ret, struct error *err) MUST_CHECK;

enum { AUDIT_STEP = 100 };

/* Returns false to stop. What it is given lasts until it returns. */
typedef bool audit_row_fn(void *ctx, const struct audit_row *row);

/* Visits the next AUDIT_STEP entries of a chain after `after`, oldest first. */
int audit_walk_rows(struct db *db, int64_t tenant_id, int64_t after, audit_row_fn *visit, void *ctx,
                    struct error *err) MUST_CHECK;

/* The stored end of the chain; seq 0 when the chain is empty. */
int audit_stored_head(struct db *db, int64_t tenant_id, struct audit_head *ret,
                      struct error *err) MUST_CHECK;

/* Replaces the head without an entry. */
int audit_set_head(struct db *db, int64_t tenant_id, const struct audit_head *head,
                   struct error *err) MUST_CHECK;

/* The hash of one entry as it is stored; zeroes when there is no such entry. */
int audit_stored_hash(struct db *db, int64_t tenant_id, int64_t seq, struct sha256 *ret,
                      struct error *err) MUST_CHECK;

/* The next chain after that of the tenant; AUDIT_PLATFORM after the last. */
int audit_next(struct db *db, int64_t tenant_id, int64_t *ret, struct error *err) MUST_CHECK;

/* A chain with entries but without a signature; false: none is left. */
int audit_next_unsigned(struct db *db, int64_t *ret_tenant_id, bool *ret_found,
                        struct error *err) MUST_CHECK;

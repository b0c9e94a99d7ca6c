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
#include "base/arena.h"
#include "features/audit/store.h"

struct api_call;
struct signer;
struct vault_losses;

/* Call within the transaction of the change: both are stored, or neither. Without a signer (NULL)
 * the entry is not signed until the next one is. */
int audit_add(const struct signer *signer, struct db *db, const struct audit_entry *entry,
              struct error *err) MUST_CHECK;

/* The hash of an entry at this position of a chain. */
struct sha256 audit_hash(const struct sha256 *before, int64_t seq, const struct audit_entry *entry);

/* The API's audit hook: adds an entry about the caller, the action and call->audit_target. */
int audit_call(struct api_call *call, struct db *db, const char *action,
               struct error *err) MUST_CHECK;

/* Signs chains that have no signature: written by an older version, or without the key. Returns the
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

/* signature.h - the signed end of a chain, in the database and kept outside of it.
 *
 * Hashes alone do not stop someone who can write the database from rewriting a
 * whole chain. So its end carries a code made with a key that is not in the
 * database. An appended entry extends a code that holds; one that does not hold
 * is left as it is, so that it stays evident.
 *
 * Someone with the key too, or with an older copy of the whole database, is
 * only found by comparing the log with a head that was kept elsewhere.
 */
#pragma once
#include "base/arena.h"
#include "features/audit/store.h"

struct signer;

/* Signs the new end in `head`, whose previous end was `before`; leaves the previous signature
 * without a key (signer NULL), and when it does not hold. Within the transaction. */
int audit_sign(const struct signer *signer, struct db *db, int64_t tenant_id,
               const struct audit_head *before, struct audit_head *head,
               struct error *err) MUST_CHECK;

/* Signs chains that have no signature: written by an older version, or without the key. Returns the
 * number of chains. In a transaction. */
int audit_sign_old(const struct signer *signer, struct db *db, size_t *ret_n,
                   struct error *err) MUST_CHECK;

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

/* audit.h - the audit log: every administrative change and every secret handed out.
 *
 * Each entry's hash covers the entry and the previous hash of its tenant's
 * chain, and the end of the chain is signed (features/audit/signature.h), so
 * that no entry can be changed, removed or moved unnoticed.
 */
#pragma once
#include "features/audit/store.h"

struct api_call;

struct signer;

/* Call within the transaction of the change: both are stored, or neither. Without a signer (NULL)
 * the entry is not signed until the next one is. */
int audit_add(const struct signer *signer, struct db *db, const struct audit_entry *entry,
              struct error *err) MUST_CHECK;

/* The hash of an entry at this position of a chain. */
struct sha256 audit_hash(const struct sha256 *before, int64_t seq, const struct audit_entry *entry);

/* The API's audit hook: adds an entry about the caller, the action and call->audit_target. */
int audit_call(struct api_call *call, struct db *db, const char *action,
               struct error *err) MUST_CHECK;

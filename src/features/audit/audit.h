/* audit.h - the audit log: every administrative change and every secret given out.
 *
 * Each entry's hash covers the entry and the hash of the one before it in its
 * tenant's chain, so that nothing can be changed, removed or moved unnoticed.
 */
#pragma once
#include "features/audit/store.h"

struct api_call;

/* Within the transaction of what it speaks of: both are stored, or neither. */
int audit_add(struct db *db, const struct audit_entry *entry, struct error *err) MUST_CHECK;

/* What an entry at this place of a chain must have as its hash. */
struct sha256 audit_hash(const struct sha256 *before, int64_t seq, const struct audit_entry *entry);

/* The API's audit hook: enters that the caller did this to call->audit_target. */
int audit_call(struct api_call *call, struct db *db, const char *action,
               struct error *err) MUST_CHECK;

/* entries.h - lists the audit log, and verifies its chains. */
#pragma once
#include "base/arena.h"
#include "base/err.h"

struct audit_head_answer;
struct audit_page;
struct audit_query;
struct audit_verdict;
struct db;

/* `tenant_id` as in features/audit/store.h: AUDIT_PLATFORM is the platform. In the arena. */
int audit_list(struct db *db, int64_t tenant_id, const struct audit_query *query,
               struct arena *arena, struct audit_page *ret, struct error *err) MUST_CHECK;

struct kept_head;
struct signer;

/* What a chain is held against besides its own hashes. */
struct audit_proof {
    const struct signer *signer;  /* NULL: the signature is not checked */
    const struct kept_head *kept; /* a head of this chain that must be in it; NULL: none */
};

/* Verifies the chain from its first entry to its end, some entries at a time, and stops at the
 * first problem. On a reader, outside a transaction. */
int audit_verify(struct db *db, int64_t tenant_id, const struct audit_proof *proof,
                 struct audit_verdict *ret, struct error *err) MUST_CHECK;

/* The end of the chain, signed to be kept elsewhere; in the arena. */
int audit_read_head(struct db *db, int64_t tenant_id, const struct signer *signer,
                    struct arena *arena, struct audit_head_answer *ret,
                    struct error *err) MUST_CHECK;

/* entries.h - lists the audit log, and verifies its chains. */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"

struct audit_head_answer;
struct audit_verdict;
struct db;
struct kept_head;
struct signer;

/* What a chain is held against besides its own hashes. */
struct audit_proof {
    const struct signer *signer;  /* NULL: the signature is not checked */
    const struct kept_head *kept; /* a head of this chain that must be in it; NULL: none */
};

/* A verification of a chain from its first entry to its end, or to the first problem, in turns:
 * between them a log of any length leaves the reader to others. */
struct audit_walk;

/* In the arena; borrows the proof. `tenant_id` as in store.h: AUDIT_PLATFORM is the platform. */
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

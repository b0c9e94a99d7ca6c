/* entries.h - lists the audit log, and verifies its chains. */
#pragma once
#include "base/arena.h"
#include "base/err.h"

struct audit_page;
struct audit_query;
struct audit_verdict;
struct db;

/* `tenant_id` as in features/audit/store.h: AUDIT_PLATFORM is the platform. In the arena. */
int audit_list(struct db *db, int64_t tenant_id, const struct audit_query *query,
               struct arena *arena, struct audit_page *ret, struct error *err) MUST_CHECK;

/* Verifies the chain from its first entry to its end, some entries at a time, and stops at the
 * first problem. On a reader, outside a transaction. */
int audit_verify(struct db *db, int64_t tenant_id, struct audit_verdict *ret,
                 struct error *err) MUST_CHECK;

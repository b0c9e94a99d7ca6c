/* audit.h - the audit log as rows: one chain a tenant, and one of the platform.
 *
 * Layer: store. May use: base, db.
 */
#pragma once
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"

struct db;

enum { AUDIT_PLATFORM = 0 }; /* the tenant_id of the platform's chain */

/* Who did what to what, when, and from where. */
struct audit_entry {
    int64_t tenant_id;
    int64_t at;
    struct str actor;  /* "operator", "person:<e-mail>", "key:<key_id>" */
    struct str action; /* "key.add": a noun and a verb */
    struct str target;
    struct str origin; /* an address, or "unix" */
    struct str detail; /* a JSON object without secrets; STR_NULL: none */
};

/* The end of a chain. */
struct audit_head {
    int64_t seq; /* 0: the chain is empty */
    struct sha256 hash;
};

/* Within a transaction: the end of the tenant's chain, which nobody else can move until the
 * transaction ends. */
int store_audit_lock(struct db *db, int64_t tenant_id, struct audit_head *ret,
                     struct error *err) MUST_CHECK;

/* The entry becomes the new end. */
int store_audit_append(struct db *db, const struct audit_entry *entry,
                       const struct audit_head *head, struct error *err) MUST_CHECK;

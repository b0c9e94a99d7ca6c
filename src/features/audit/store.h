/* store.h - the audit log as rows: one chain per tenant, and one of the platform. */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"
#include "shape/shape.h"

struct audit_query;
struct db;

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

/* Within a transaction: the end of the tenant's chain, locked until the transaction ends. */
int store_audit_lock(struct db *db, int64_t tenant_id, struct audit_head *ret,
                     struct error *err) MUST_CHECK;

/* Appends the entry as the new end; `head` with its signature replaces the old one. */
int store_audit_append(struct db *db, const struct audit_entry *entry,
                       const struct audit_head *head, struct error *err) MUST_CHECK;

/* An entry with its position in the chain. */
struct audit_row {
    int64_t seq;
    struct audit_entry entry;
    struct str hash;
};

/* The entries that the query asks for, newest first: a list of struct audit_item, in the arena. A
 * bounded number of entries is scanned, so a page may be short and still have a next one. */
int store_audit_page(struct db *db, int64_t tenant_id, const struct audit_query *query,
                     struct arena *arena, struct listing *ret, struct error *err) MUST_CHECK;

enum { AUDIT_STEP = 100 };

/* Returns false to stop. What it is given lasts until it returns. */
typedef bool audit_row_fn(void *ctx, const struct audit_row *row);

/* Visits the next AUDIT_STEP entries of a chain after `after`, oldest first. */
int store_audit_walk(struct db *db, int64_t tenant_id, int64_t after, audit_row_fn *visit,
                     void *ctx, struct error *err) MUST_CHECK;

/* The stored end of the chain; seq 0 when the chain is empty. */
int store_audit_head(struct db *db, int64_t tenant_id, struct audit_head *ret,
                     struct error *err) MUST_CHECK;

/* Replaces the head without an entry. */
int store_audit_set_head(struct db *db, int64_t tenant_id, const struct audit_head *head,
                         struct error *err) MUST_CHECK;

/* The hash of one entry as it is stored; zeroes when there is no such entry. */
int store_audit_hash(struct db *db, int64_t tenant_id, int64_t seq, struct sha256 *ret,
                     struct error *err) MUST_CHECK;

/* The next chain after that of the tenant; AUDIT_PLATFORM after the last. */
int store_audit_next(struct db *db, int64_t tenant_id, int64_t *ret, struct error *err) MUST_CHECK;

/* A chain with entries but without a signature; false: none is left. */
int store_audit_next_unsigned(struct db *db, int64_t *ret_tenant_id, bool *ret_found,
                              struct error *err) MUST_CHECK;

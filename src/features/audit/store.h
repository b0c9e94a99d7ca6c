/* store.h - the audit log as rows: one chain a tenant, and one of the platform. */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
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

/* An entry as it lies in its chain. */
struct audit_row {
    int64_t seq;
    struct audit_entry entry;
    struct sha256 hash; /* zeroes when what is stored is no hash */
};

struct audit_filter {
    struct str action, actor; /* STR_NULL: any */
    int64_t since, until;     /* of `at`: from, and before */
    int64_t before;           /* seq; INT64_MAX: from the newest on */
    int64_t limit, scan_max;  /* entries given, and entries looked at */
};

struct audit_rows {
    struct audit_row *rows;
    size_t n;
    bool more;
    int64_t next; /* the `before` of the next page, when there is more */
};

/* Newest first, in the arena. */
int store_audit_page(struct db *db, int64_t tenant_id, const struct audit_filter *filter,
                     struct arena *arena, struct audit_rows *ret, struct error *err) MUST_CHECK;

enum { AUDIT_STEP = 500 };

/* The next AUDIT_STEP entries of a chain after `after`, oldest first, in the arena; `more` is set
 * when there may be others. */
int store_audit_walk(struct db *db, int64_t tenant_id, int64_t after, struct arena *arena,
                     struct audit_rows *ret, struct error *err) MUST_CHECK;

/* The end of the chain as it was noted; seq 0 when nothing was. */
int store_audit_head(struct db *db, int64_t tenant_id, struct audit_head *ret,
                     struct error *err) MUST_CHECK;

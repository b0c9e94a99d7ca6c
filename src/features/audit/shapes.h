/* shapes.h - the audit log, as it is read.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "shape/shape.h"
#include "shape/timerange.h"

struct audit_query {
    int64_t limit;
    struct str cursor, action, actor, since, until; /* null */

    struct time_range range; /* since and until, resolved when the query was read */
    int64_t before;          /* the parsed cursor; INT64_MAX without one */
};

struct audit_item {
    int64_t seq, at;
    struct str actor, action, target, origin;
    struct str detail; /* JSON text of an object; null */
    struct str hash;   /* 64 hexadecimal digits */
};

struct audit_page {
    struct list entries; /* of struct audit_item */
    struct str next;     /* null: last page */
};

struct audit_verdict {
    bool ok;
    int64_t entries;    /* valid ones before the first problem */
    struct str problem; /* null: none */
    struct opt_int seq; /* of the entry with the problem */
};

extern const struct shape audit_query_shape;   /* "AuditQuery" */
extern const struct shape audit_item_shape;    /* "AuditEntry" */
extern const struct shape audit_page_shape;    /* "AuditPage" */
extern const struct shape audit_verdict_shape; /* "AuditVerdict" */

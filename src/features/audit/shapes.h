/* shapes.h - the audit log, as it is read, and its commands.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "cli/command.h"
#include "features/audit/audit.h"
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

struct audit_verdict {
    bool ok;
    int64_t entries;    /* valid ones before the first problem */
    struct str problem; /* null: none */
    struct opt_int seq; /* of the entry with the problem */
    struct opt_int signed_to;
    int64_t unsigned_entries;
    struct opt_int reset_seq;
};

struct audit_verify_query {
    struct str head; /* null */

    struct kept_head kept; /* parsed, when there is one */
};

struct audit_head_answer {
    int64_t seq, unsigned_entries;
    struct str head, public_key;
};

extern const struct shape audit_verify_query_shape, audit_head_shape, audit_query_shape,
    audit_item_shape, audit_page_shape, audit_verdict_shape;
extern const struct command audit_commands[];

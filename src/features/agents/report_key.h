/* report_key.h - which agent sent a report, and when it was received. */
#pragma once
#include <stdint.h>

struct stored_bytes;

struct report_key {
    int64_t tenant_id; /* the key's, never the body's */
    int64_t agent_id;
    int64_t received_at;
    struct stored_bytes *bytes; /* of the transaction: what is stored is added to it; or NULL */
};

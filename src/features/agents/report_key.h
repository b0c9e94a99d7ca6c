/* report_key.h - which agent sent a report, and when it was received. */
#pragma once
#include <stdint.h>

struct report_key {
    int64_t tenant_id; /* the key's, never the body's */
    int64_t agent_id;
    int64_t received_at;
};

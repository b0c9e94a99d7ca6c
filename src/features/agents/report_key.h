/* report_key.h - where a report belongs and when it came. */
#pragma once
#include <stdint.h>

struct report_key {
    int64_t tenant_id; /* the key's, never the body's */
    int64_t agent_id;
    int64_t received_at;
};

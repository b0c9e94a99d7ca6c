/* silence_store.h - what agents are judged by when they may have fallen silent. */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "shape/shape.h"

struct db;

struct silence_row {
    int64_t tenant_id, agent_id;
    struct str agent_name; /* of store_silence_hold() only */
    bool enabled;          /* and not deleted */
    bool deleted;
    struct opt_int interval_seconds;
    int64_t last_seen_at;         /* TIME_NULL: never */
    int64_t muted_until;          /* TIME_NULL: it is not */
    struct str alert_id;          /* of the alert that is open; STR_NULL: none */
    int64_t since_at;             /* likewise */
    struct opt_int limit_seconds; /* the interval that it was opened under */
};

/* All agents that something is expected of, or that have an alert open: a list of struct
 * silence_row, by number, so that processes hold them in one order; in the arena. */
int store_silences(struct db *db, struct arena *arena, struct list *ret,
                   struct error *err) MUST_CHECK;

/* One agent, held until the transaction ends, so that no sign of life is stored meanwhile. No
 * agent_id when there is none. In the arena. */
int store_silence_hold(struct db *db, int64_t tenant_id, int64_t agent_id, struct arena *arena,
                       struct silence_row *ret, struct error *err) MUST_CHECK;

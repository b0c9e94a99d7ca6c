/* retention.h - how long a tenant's data is kept: shown and replaced. */
#pragma once
#include "base/err.h"
#include "features/access/retention_shapes.h"

struct db;

/* The limits in effect. Without limits, nothing of the tenant is ever deleted. */
int retention_show(struct db *db, int64_t tenant_id, struct retention_limits *ret,
                   struct error *err) MUST_CHECK;

/* Replaces the limits, within a transaction. Once it is committed, nothing is deleted by the old
 * limits. */
int retention_set(struct db *db, int64_t tenant_id, const struct retention_limits *limits,
                  struct error *err) MUST_CHECK;

struct engine;

/* Size of the database when last measured. Any thread. */
int64_t retention_store_bytes(const struct engine *e);

/* store.h - the oldest closed alerts of a tenant, and their deletion. */
#pragma once
#include "base/arena.h"
#include "base/err.h"

struct db;
struct rows;

/* The next tenant by number, or 0. */
int store_closed_next_tenant(struct db *db, int64_t after, int64_t *ret,
                             struct error *err) MUST_CHECK;

/* The newest closed alert beyond the `keep` newest closed ones, in the arena, or STR_NULL. */
int store_closed_beyond(struct db *db, int64_t tenant_id, int64_t keep, struct arena *arena,
                        struct str *ret, struct error *err) MUST_CHECK;

/* Within a transaction: up to `max` closed alerts up to this one, the oldest first, added to
 * empty rows of struct str. PostgreSQL locks them, and leaves out what others have locked. */
int store_closed_oldest(struct db *db, int64_t tenant_id, struct str until, int64_t max,
                        struct rows *ret, struct error *err) MUST_CHECK;

/* Deletes a closed alert with its history. Adds to *ret_rows how many rows went, and to *ret_bytes
 * what they counted for the tenant (access/stored_bytes.h). */
int store_closed_delete(struct db *db, int64_t tenant_id, struct str alert_id, int64_t *ret_rows,
                        int64_t *ret_bytes, struct error *err) MUST_CHECK;

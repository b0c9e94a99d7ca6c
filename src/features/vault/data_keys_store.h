/* data_keys_store.h - the tenants' data keys as rows, wrapped by the master key.
 * Tenant DATA_KEY_PLATFORM has the platform's own key. Its row also serializes
 * changes of the master key: every transaction that wraps a key locks it.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "shape/shape.h"

struct db;

enum { DATA_KEY_PLATFORM = 0 };

struct data_key_row {
    int64_t tenant_id;
    int64_t version; /* 0: no such key */
    struct str wrapped;
};

/* The version, or the newest with 0; in the arena. */
int store_data_key(struct db *db, int64_t tenant_id, int64_t version, struct arena *arena,
                   struct data_key_row *ret, struct error *err) MUST_CHECK;

/* The platform's key, locked until the transaction ends. */
int store_data_key_lock(struct db *db, struct arena *arena, struct data_key_row *ret,
                        struct error *err) MUST_CHECK;

/* All data keys: a list of struct data_key_row; in the arena. */
int store_data_keys(struct db *db, struct arena *arena, struct list *ret,
                    struct error *err) MUST_CHECK;

/* Does nothing when another process has just added it. */
int store_data_key_add(struct db *db, const struct data_key_row *row, int64_t now_us,
                       struct error *err) MUST_CHECK;

/* Replaces the wrapped key. */
int store_data_key_set(struct db *db, const struct data_key_row *row, struct error *err) MUST_CHECK;
